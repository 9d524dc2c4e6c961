// Command release makes the archives of a version, and checks them: `make release VERSION=1.2.3`, `make release-check`.
//
// The same commit gives the same bytes on any machine: what is built, the compiler, file times and owners are fixed.
package main

import (
	"flag"
	"fmt"
	"log"
	"regexp"
	"runtime"
	"strings"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "the version that is released, such as 1.2.3")
	dist := flag.String("out", "dist", "folder of the release")
	only := flag.String("targets", "", "OS/ARCH, with commas between them (default: all)")
	licences := flag.String("licences", "", "write THIRD_PARTY_LICENSES beside this program, which was built here")
	checking := flag.Bool("check", false, "unpack this machine's archive, and run it")
	flag.Parse()
	if *licences != "" {
		check(writeLicences(".", *licences))
		return
	}
	if *checking {
		check(checkArchive(*dist, ".", runtime.GOOS, runtime.GOARCH))
		return
	}
	check(checkVersion(*version))
	chosen := targets
	if *only != "" {
		var err error
		chosen, err = parseTargets(*only)
		check(err)
	}
	src, err := checkedOut(".")
	check(err)
	err = releaseTo(src.dir, *dist, *version, chosen)
	src.remove()
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatalf("release: %v", err)
	}
}

var fileSafe = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)

// checkVersion refuses a version that cannot stand in the name of a file.
func checkVersion(version string) error {
	switch {
	case version == "":
		return fmt.Errorf("which version? make release VERSION=1.2.3")
	case !fileSafe.MatchString(version):
		return fmt.Errorf("version %q: use letters, digits, dots, hyphens and plus signs", version)
	}
	return nil
}

// target is a system that the program is built for.
type target struct{ os, arch string }

// targets are those of a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	{"windows", "arm64"},
}

// binary is the name of the program.
func (t target) binary() string {
	if t.os == "windows" {
		return "rehearse.exe"
	}
	return "rehearse"
}

// archive is the name of the archive of a version.
func (t target) archive(version string) string {
	suffix := ".tar.gz"
	if t.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("rehearse_%s_%s_%s%s", version, t.os, t.arch, suffix)
}

// parseTargets reads OS/ARCH,….
func parseTargets(list string) (chosen []target, err error) {
	for word := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(word, "/")
		if !ok || !fileSafe.MatchString(system) || !fileSafe.MatchString(arch) {
			return nil, fmt.Errorf("target %q: write OS/ARCH", word)
		}
		chosen = append(chosen, target{system, arch})
	}
	return chosen, nil
}
