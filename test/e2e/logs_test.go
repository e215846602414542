package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stithy/internal/joblog"
)

// logFile has jobs that write as common tools do. Their logs are kept in internal/joblog/testdata; to record them anew, set
// STITHY_RECORD_LOGS to that folder.
const logFile = `
stages: [test]
default: {before_script: ['echo "before the script"'], after_script: ['echo "after the script, job is $CI_JOB_STATUS"']}
npm: {stage: test, script: [bash ./say.sh npm]}
gotest: {stage: test, script: [bash ./say.sh gotest]}
pytest: {stage: test, script: [bash ./say.sh pytest]}
cargo: {stage: test, script: [bash ./say.sh cargo]}
progress: {stage: test, script: [bash ./say.sh progress]}
unicode: {stage: test, script: [bash ./say.sh unicode]}
sections: {stage: test, script: [bash ./say.sh sections]}
colours: {stage: test, script: [bash ./say.sh colours]}
artifacts: {stage: test, artifacts: {paths: [out/]}, script: ['mkdir out', 'echo kept > out/file.txt']}
failing: {stage: test, allow_failure: true, script: ['echo "about to fail"', 'ls /no/such/folder', 'echo never']}
multiline:
  stage: test
  variables: {FF_SCRIPT_SECTIONS: "true"}
  script:
    - |
      echo one
      echo two
    - echo three
`

const logScript = `e=$'\033'
case $1 in
npm)
  printf "${e}[1G${e}[0K⠙" >&2; sleep 0.1; printf "${e}[1G${e}[0K⠹" >&2; sleep 0.1; printf "${e}[1G${e}[0K" >&2
  printf "${e}[1mnpm${e}[22m ${e}[33mwarn${e}[39m ${e}[94mdeprecated${e}[39m inflight@1.0.6: This module is not supported\n" >&2
  printf "\nadded 57 packages, and audited 58 packages in 2s\n\nfound ${e}[32m${e}[1m0${e}[22m${e}[39m vulnerabilities\n"
  printf "\n> app@1.0.0 test\n> vitest run\n\n ${e}[32m✓${e}[39m src/a.test.ts ${e}[2m(${e}[22m${e}[2m3 tests${e}[22m${e}[2m)${e}[22m${e}[33m 5${e}[2mms${e}[22m${e}[39m\n" ;;
gotest)
  printf "=== RUN   TestSum\n--- PASS: TestSum (0.00s)\n=== RUN   TestParse\n    parse_test.go:14: got <nil>, want \"a&b\"\n--- FAIL: TestParse (0.01s)\nFAIL\n"
  printf "FAIL\texample.com/app/parse\t0.012s\n?   \texample.com/app\t[no test files]\nok  \texample.com/app/sum\t(cached)\tcoverage: 87.5%% of statements\n"
  printf "go: downloading golang.org/x/text v0.14.0\n" >&2 ;;
pytest)
  printf "${e}[1m============================= test session starts ==============================${e}[0m\ncollected 3 items\n\n"
  printf "test_a.py ${e}[32m.${e}[0m"; sleep 0.2; printf "${e}[32m.${e}[0m"; sleep 0.2; printf "${e}[31mF${e}[0m${e}[31m                                      [100%%]${e}[0m\n\n"
  printf "${e}[31m${e}[1m__________ test_c __________${e}[0m\n${e}[1m${e}[31mE       assert 1 == 2${e}[0m\n${e}[31m========= ${e}[31m${e}[1m1 failed${e}[0m, ${e}[32m2 passed${e}[0m${e}[31m in 0.05s${e}[0m${e}[31m =========${e}[0m\n" ;;
cargo)
  printf "${e}[1m${e}[32m   Compiling${e}[0m libc v0.2.150\n" >&2
  for i in 1 2 3; do printf "${e}[1m${e}[36m    Building${e}[0m [====>   ] $i/3: libc\r" >&2; sleep 0.1; done; printf "${e}[K" >&2
  printf "${e}[1m${e}[33mwarning${e}[0m${e}[0m${e}[1m: unused variable: 'x'${e}[0m\n${e}[0m ${e}[0m${e}[0m${e}[1m${e}[38;5;12m--> ${e}[0m${e}[0msrc/main.rs:2:9${e}[0m\n" >&2
  printf "${e}[1m${e}[32m    Finished${e}[0m dev [unoptimized + debuginfo] target(s) in 0.31s\n" >&2
  printf "running 1 test\ntest it_works ... ${e}[32mok${e}[m\n" ;;
progress)
  for i in 0 10 20 30 40 50 60 70 80 90 100; do printf "\rDownloading %3d%%" $i; sleep 0.02; done; echo
  for i in 1 2 3 4 5; do printf "Receiving objects: %d%% (%d/5)\r" $((i*20)) $i >&2; sleep 0.05; done; echo "Receiving objects: 100% (5/5), done." >&2
  printf "working  "; for c in / - '|' x; do printf "\b$c"; sleep 0.02; done; echo ;;
unicode)
  printf 'gr\303\274\303\237e \344\270\226\347\225\214 '; printf '\360\237'; sleep 0.3; printf '\232\200 launched\n'
  head -c 8190 /dev/zero | tr '\0' 'x'; printf '\342'; sleep 0.3; printf '\202'; sleep 0.3; printf '\254 after a long line\n'
  head -c 20000 /dev/zero | tr '\0' 'y'; echo; printf 'not text: \377\376\n' ;;
sections)
  now=$(date +%s)
  printf "section_start:$now:outer\r${e}[0K${e}[1mOuter part${e}[0m\n"
  printf "section_start:$now:inner[collapsed=true]\r${e}[0KInner part\n"; echo "inside both"; printf "section_end:$((now+7)):inner\r${e}[0K\n"
  echo "inside one"; printf "section_end:$((now+65)):outer\r${e}[0K"; echo "outside"
  printf "section_start:$now:open_end\r${e}[0KNever ended\n"; echo "still inside" ;;
colours)
  for n in 30 31 32 33 34 35 36 37 90 91 92 93 94 95 96 97 41 104; do printf "${e}[${n}m$n${e}[0m "; done; echo
  printf "${e}[38;5;208m256${e}[0m ${e}[38;2;0;128;255mtrue${e}[0m ${e}[1mbold${e}[0m ${e}[2mdim${e}[0m ${e}[3mitalic${e}[0m ${e}[4munderline${e}[0m ${e}[7mreverse${e}[0m ${e}[9mstruck${e}[0m\n"
  printf "${e}]8;;https://example.com/\a""a link of terminals${e}]8;;\a and https://example.com/docs?a=1&b=2.\n"
  printf '<script>alert(1)</script> & "quoted"\n' ;;
esac
`

// stampInText is a stamp of the runner that a page would show.
var stampInText = regexp.MustCompile(stampForm)

// tornStamp is one that another one comes behind.
var tornStamp = regexp.MustCompile(stampForm + "[ +]" + stampForm)

const stampForm = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{2}[OE]`

func TestALogOfTheRunnerIsReadable(t *testing.T) {
	t.Parallel()
	f := start(t)
	project := f.project("tool")
	f.runner()
	dir := f.tree()
	f.commit(dir, "say.sh", logScript)
	f.commit(dir, ciFile, logFile)
	f.mustGit(dir, nil, "push", f.remote("tool"), "HEAD:refs/heads/main")
	done := f.awaitPipeline(project, strings.TrimSpace(f.mustGit(dir, nil, "rev-parse", "HEAD")), "success")
	logs := map[string]string{}
	for name, job := range f.jobs(project, done.ID) {
		logs[name] = f.trace(project, job.ID)
		var sections []string
		var last string
		// A runner writes a stamp and its text one after the other: when both streams write at once, the stamp of one may come
		// before that of the other, and its text without one.
		torn := 2 * len(tornStamp.FindAllString(logs[name], -1))
		p := joblog.NewParser(joblog.Start(), func(l *joblog.Line) bool {
			if last = l.Text(); stampInText.MatchString(last) || l.Stamp.Clock() == "" {
				if torn--; torn >= 0 {
					return true
				}
				t.Errorf("%s, line %d has stamp %q and says %q", name, l.Number, l.Stamp, last)
			}
			if l.Opens != nil {
				sections = append(sections, last)
			}
			return true
		})
		_, _ = p.Write([]byte(logs[name]))
		p.Finish()
		titles := strings.Join(sections, "\n")
		for _, title := range []string{`Preparing the "shell" executor`, "Getting source from Git repository", `Executing "step_script" stage of the job script`, "Running after_script"} {
			if !strings.Contains(titles, title) {
				t.Errorf("%s has no section %q, only\n%s", name, title, titles)
			}
		}
		if end := map[bool]string{true: "ERROR: Job failed: exit status 2", false: "Job succeeded"}[name == "failing"]; last != end {
			t.Errorf("%s ends with %q", name, last)
		}
	}
	if to := os.Getenv("STITHY_RECORD_LOGS"); to != "" {
		record(t, f, to, logs)
	}
}

// record writes logs without what is of this machine alone.
func record(t *testing.T, f *forge, to string, logs map[string]string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	temp := regexp.MustCompile(`[^ ]*/TestALogOfTheRunnerIsReadable[0-9]*/[0-9]+`)
	for name, log := range logs {
		log = temp.ReplaceAllString(strings.NewReplacer(host, "machine", f.url, "http://127.0.0.1:8080").Replace(log), "/home/runner")
		if err := os.WriteFile(filepath.Join(to, name+".log"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
