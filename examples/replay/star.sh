#!/bin/sh
# Learns a flow for every task of STAR from the first half of its sessions and replays the second half: one example per option against all of them.
# usage: star.sh EVENTS.jsonl.gz [FOLDER]     (events as in this folder, of the whole corpus; about a minute)
set -eu
events=$1
folder=${2:-star}
here=$(dirname "$0")
store=sqlite:$folder/star.db
mkdir -p "$folder/flows" "$folder/reports"
rehearse replay import "$events" --store "$store"
{
	echo 'prompt_versions: [{id: plain, file_path: plain.md, model_provider: lexical, model_name: default}]'
	echo 'variants:'
} >"$folder/variants.yaml"
sed 1d "$here/splits.csv" >"$folder/tasks.csv"
while IFS=, read -r flow until from last; do
	for variant in baseline:1 candidate:all; do
		id=${flow}_${variant%:*}
		rehearse flow mine --store "$store" --flow_id "$flow" --end_date "$until" --examples "${variant#*:}" --id "$id" --out "$folder/flows/$id.yaml" 2>>"$folder/mine.log"
		echo "  - {id: $id, config: {execution_strategy: prompt_template, prompt_config: {prompt_version_id: plain}, flow_config: {flow_id: $id}}}" >>"$folder/variants.yaml"
	done
done <"$folder/tasks.csv"
rehearse replay variant add "$folder/variants.yaml" --store "$store" >/dev/null
for mode in recorded forced; do
	while IFS=, read -r flow until from last; do
		rehearse replay run --quiet --store "$store" --flow_id "$flow" --start_date "$from" --end_date "$last" --mode "$mode" \
			--variant_id "${flow}_candidate" --baseline_variant_id "${flow}_baseline" --flows "$folder/flows" --prompts "$here/prompts" \
			--out "$folder/reports/$flow-$mode" >"$folder/reports/$flow-$mode.txt" 2>>"$folder/run.log" || true # 1 is a verdict, too
		printf '%-24s %-9s %s | %s\n' "$flow" "$mode" \
			"$(sed -n 's/^  Completion match  */completion /p' "$folder/reports/$flow-$mode.txt" | head -1)" \
			"$(sed -n 's/^  State progression match  */states /p' "$folder/reports/$flow-$mode.txt" | head -1)"
	done <"$folder/tasks.csv"
done
