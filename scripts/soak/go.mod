module github.com/probate-dev/probate/scripts/soak

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/probate-dev/probate v0.0.0
	golang.org/x/sys v0.50.0
)

require github.com/denisbrodbeck/machineid v1.0.1 // indirect

replace github.com/probate-dev/probate => ../..
