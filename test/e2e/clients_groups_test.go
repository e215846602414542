package e2e

import "testing"

func TestPythonGitlabFindsGroupsAndProjects(t *testing.T) {
	t.Parallel()
	need(t, "python3-gitlab 3.12 is missing: apt-get install -y python3-gitlab", "/usr/bin/python3", "-c",
		`import gitlab; assert gitlab.__version__.startswith("3.12.")`)
	start(t).tour("/usr/bin/python3", "python/groups.py")
}

func TestRubyGitlabFindsGroupsAndProjects(t *testing.T) {
	t.Parallel()
	need(t, "ruby-gitlab 4.17 is missing: apt-get install -y ruby-gitlab", "/usr/bin/ruby", "-e",
		`require "gitlab"; abort unless Gitlab::VERSION.start_with?("4.17.")`)
	start(t).tour("/usr/bin/ruby", "ruby/groups.rb")
}

func TestGitbeakerFindsGroupsAndProjects(t *testing.T) {
	t.Parallel()
	need(t, "@gitbeaker/rest 43.8.0 is missing: npm ci --ignore-scripts in test/e2e/node", "node", "-e",
		`const v = require("./node/node_modules/@gitbeaker/rest/package.json").version; if (v !== "43.8.0") process.exit(1)`)
	start(t).tour("node", "node/groups.mjs")
}
