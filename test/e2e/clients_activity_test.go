package e2e

import "testing"

func TestPythonGitlabFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/python3", "python/activity.py")
}

func TestRubyGitlabFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/ruby", "ruby/activity.rb")
}

func TestGitbeakerFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	start(t).tour("node", "node/activity.mjs")
}
