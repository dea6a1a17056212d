module github.com/probate-dev/probate/scripts/bench

go 1.26.0

require (
	github.com/gofrs/flock v0.13.2
	github.com/nightlyone/lockfile v1.0.0
	github.com/probate-dev/probate v0.0.0
)

require golang.org/x/sys v0.50.0 // indirect

replace github.com/probate-dev/probate => ../..
