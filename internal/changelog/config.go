package changelog

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// config is how a project wants its changelog.
type config struct {
	dateFormat    string
	template      *template
	categories    []category // in the order of the file
	includeGroups []string
	tags          *tagPattern
}

// category is a value of the trailer and the heading that it stands for.
type category struct{ value, title string }

// titleOf is the heading of a trailer's value.
func (c *config) titleOf(value string) string {
	for _, one := range c.categories {
		if one.value == value {
			return one.title
		}
	}
	return value
}

// parseConfig reads the configuration over the defaults; no text is all defaults.
func parseConfig(text []byte) (*config, error) {
	c := &config{dateFormat: "%Y-%m-%d"}
	source, pattern := defaultTemplate, defaultTagPattern
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, failed("The configuration is not valid YAML")
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Tag != "!!null" {
		root := doc.Content[0]
		if root.Kind != yaml.MappingNode {
			return nil, failed("The configuration must be a Hash")
		}
		for i := 0; i+1 < len(root.Content); i += 2 {
			value := root.Content[i+1]
			if value.Kind == yaml.AliasNode { // nothing is written here that would need one
				return nil, failed("The configuration may not use aliases")
			}
			if err := c.set(root.Content[i].Value, value, &source, &pattern); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if c.template, err = parseTemplate(source); err != nil {
		return nil, err
	}
	c.tags, err = compileTags(pattern)
	return c, err
}

func (c *config) set(key string, value *yaml.Node, template, pattern *string) error {
	var into *string
	switch key {
	case "date_format":
		into = &c.dateFormat
	case "template":
		into = template
	case "tag_regex":
		into = pattern
	case "categories":
		if value.Kind != yaml.MappingNode {
			return failed(`The "categories" configuration key must be a Hash`)
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			if value.Content[i+1].Kind != yaml.ScalarNode {
				return failed(`The "categories" configuration key must be a Hash of texts`)
			}
			c.categories = append(c.categories, category{value.Content[i].Value, value.Content[i+1].Value})
		}
		return nil
	case "include_groups":
		if value.Kind != yaml.SequenceNode || len(value.Content) > maxGroups {
			return failed(`The "include_groups" configuration key must be an Array of at most %d groups`, maxGroups)
		}
		for _, one := range value.Content {
			if one.Kind == yaml.ScalarNode && one.Value != "" {
				c.includeGroups = append(c.includeGroups, strings.Trim(one.Value, "/"))
			}
		}
		return nil
	default:
		return nil
	}
	if value.Kind != yaml.ScalarNode || len(value.Value) > maxTemplate {
		return failed(`The "%s" configuration key must be a String`, key)
	}
	if value.Tag != "!!null" {
		*into = value.Value
	}
	return nil
}
