package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxFormula      = 4 << 10
	maxFormulaDepth = 30
)

// Formula is a formula of TeX as MathML, which browsers draw by themselves. It knows what is common in texts about
// programs: fractions, roots, powers, indices, Greek letters, sums and relations. A formula with anything else is shown
// as it was written.
func Formula(tex string, block bool) string {
	tex = strings.TrimSpace(tex)
	p := &formulaParser{left: tex}
	body := ""
	if len(tex) <= maxFormula {
		body = p.row("")
	}
	display, box := "", "code"
	if block {
		display, box = ` display="block"`, "pre"
	}
	if body == "" || p.unknown || p.left != "" {
		return "<" + box + ` class="math">` + html.EscapeString(tex) + "</" + box + ">"
	}
	return "<math" + display + `><semantics><mrow>` + body + `</mrow><annotation encoding="application/x-tex">` + html.EscapeString(tex) +
		"</annotation></semantics></math>"
}

type formulaParser struct {
	left    string
	depth   int
	unknown bool
}

// row reads until a word that ends it, which it takes as well.
func (p *formulaParser) row(end string) string {
	if p.depth++; p.depth > maxFormulaDepth {
		p.unknown = true
	}
	defer func() { p.depth-- }()
	var b strings.Builder
	for !p.unknown {
		p.left = strings.TrimLeftFunc(p.left, unicode.IsSpace)
		if end != "" && strings.HasPrefix(p.left, end) {
			p.left = p.left[len(end):]
			return b.String()
		}
		if p.left == "" {
			p.unknown = p.unknown || end != ""
			return b.String()
		}
		b.WriteString(p.scripted())
	}
	return ""
}

// scripted reads one thing with its index and its power.
func (p *formulaParser) scripted() string {
	base := p.atom()
	below, above := "", ""
	for !p.unknown {
		p.left = strings.TrimLeftFunc(p.left, unicode.IsSpace)
		switch {
		case below == "" && strings.HasPrefix(p.left, "_"):
			p.left = p.left[1:]
			below = p.argument()
		case above == "" && strings.HasPrefix(p.left, "^"):
			p.left = p.left[1:]
			above = p.argument()
		case below != "" && above != "":
			return "<msubsup>" + base + below + above + "</msubsup>"
		case below != "":
			return "<msub>" + base + below + "</msub>"
		case above != "":
			return "<msup>" + base + above + "</msup>"
		default:
			return base
		}
	}
	return ""
}

// argument is one thing, or all that stands in braces.
func (p *formulaParser) argument() string { return "<mrow>" + p.atom() + "</mrow>" }

func (p *formulaParser) atom() string {
	p.left = strings.TrimLeftFunc(p.left, unicode.IsSpace)
	if p.left == "" {
		p.unknown = true
		return ""
	}
	c, size := utf8.DecodeRuneInString(p.left)
	switch {
	case c == '{':
		p.left = p.left[1:]
		return "<mrow>" + p.row("}") + "</mrow>"
	case c == '\\':
		return p.command()
	case c >= '0' && c <= '9':
		n := count(p.left, maxFormula, func(c byte) bool { return digit(c) || c == '.' })
		number := strings.TrimRight(p.left[:n], ".")
		p.left = p.left[len(number):]
		return "<mn>" + number + "</mn>"
	case unicode.IsLetter(c):
		p.left = p.left[size:]
		return "<mi>" + string(c) + "</mi>"
	case strings.ContainsRune("+-*/=<>()[]|,.;:!?'", c):
		p.left = p.left[size:]
		if c == '-' {
			c = '−'
		}
		return "<mo>" + html.EscapeString(string(c)) + "</mo>"
	}
	p.unknown = true
	return ""
}

func (p *formulaParser) command() string {
	n := 1 + count(p.left[1:], 30, func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' })
	if n == 1 && len(p.left) > 1 {
		n = 2
	}
	name := p.left[1:n]
	p.left = p.left[n:]
	switch name {
	case "frac", "dfrac", "tfrac":
		return "<mfrac>" + p.argument() + p.argument() + "</mfrac>"
	case "sqrt":
		if rest, given := strings.CutPrefix(p.left, "["); given {
			p.left = rest
			degree := p.row("]")
			return "<mroot>" + p.argument() + "<mrow>" + degree + "</mrow></mroot>"
		}
		return "<msqrt>" + p.argument() + "</msqrt>"
	case "text", "mathrm", "operatorname", "mathbf", "mathit", "mathsf", "mathtt":
		return p.words()
	case "left", "right", "big", "Big", "limits":
		return "" // the size of what follows is the browser's business
	case ",", ";", ":", " ", "quad", "qquad", "!":
		return `<mspace width="0.3em"></mspace>`
	case "{", "}", "%", "$", "#", "&", "_":
		return "<mo>" + html.EscapeString(name) + "</mo>"
	}
	if letter := greek[name]; letter != "" {
		return "<mi>" + letter + "</mi>"
	}
	if sign := operators[name]; sign != "" {
		return "<mo>" + sign + "</mo>"
	}
	if strings.Contains(functions, " "+name+" ") {
		return "<mi>" + name + "</mi>"
	}
	p.unknown = true
	return ""
}

// words are letters that stand for themselves.
func (p *formulaParser) words() string {
	inside, ok := strings.CutPrefix(p.left, "{")
	text, rest, closed := strings.Cut(inside, "}")
	if !ok || !closed || strings.ContainsAny(text, `\{$`) {
		p.unknown = true
		return ""
	}
	p.left = rest
	return "<mtext>" + html.EscapeString(text) + "</mtext>"
}

const functions = " sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim sup inf max min arg det dim gcd mod deg ker Pr "

var greek = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι",
	"kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "ϕ",
	"varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
	"Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "infty": "∞", "partial": "∂", "nabla": "∇", "emptyset": "∅", "ell": "ℓ", "hbar": "ℏ",
}

var operators = map[string]string{
	"cdot": "⋅", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈",
	"equiv": "≡", "sim": "∼", "propto": "∝", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "supset": "⊃", "cup": "∪", "cap": "∩",
	"setminus": "∖", "land": "∧", "wedge": "∧", "lor": "∨", "vee": "∨", "neg": "¬", "lnot": "¬", "forall": "∀", "exists": "∃", "to": "→",
	"rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "Leftarrow": "⇐", "iff": "⇔", "mapsto": "↦", "sum": "∑", "prod": "∏", "int": "∫",
	"oint": "∮", "dots": "…", "ldots": "…", "cdots": "⋯", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
	"mid": "∣", "parallel": "∥", "perp": "⊥", "circ": "∘", "oplus": "⊕", "otimes": "⊗", "prime": "′", "star": "⋆", "ll": "≪", "gg": "≫",
}
