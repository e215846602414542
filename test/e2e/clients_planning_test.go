package e2e

import "testing"

func TestPythonGitlabPlans(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/python3", "python/planning.py")
}

func TestRubyGitlabPlans(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/ruby", "ruby/planning.rb")
}

func TestGitbeakerPlans(t *testing.T) {
	t.Parallel()
	start(t).tour("node", "node/planning.mjs")
}
