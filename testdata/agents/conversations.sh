# Prints a suite of 20 conversations, in which the agent has to know the turn and the conversation's own word.
echo 'name: conversations'
echo 'tests:'
for n in $(seq 20); do
  cat <<END
  - id: c$n
    mode: conversation
    turns:
      - {input: I am word$n, assertions: [{type: equals, value: "1 word$n: I am word$n"}]}
      - {input: and now, assertions: [{type: equals, value: "2 word$n: and now"}]}
      - {input: at last, assertions: [{type: equals, value: "3 word$n: at last"}]}
END
done
