package e2e

import "testing"

func TestPythonGitlabFindsWhatIsInARepository(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/python3", "python/repository.py")
}

func TestRubyGitlabFindsWhatIsInARepository(t *testing.T) {
	t.Parallel()
	start(t).tour("/usr/bin/ruby", "ruby/repository.rb")
}

func TestGitbeakerFindsWhatIsInARepository(t *testing.T) {
	t.Parallel()
	start(t).tour("node", "node/repository.mjs")
}
