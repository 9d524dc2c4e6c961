module github.com/rehearse-dev/rehearse/bench

go 1.26.0

require github.com/rehearse-dev/rehearse v0.0.0

require (
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
)

replace github.com/rehearse-dev/rehearse => ../
