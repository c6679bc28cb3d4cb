package family

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"regexp"
	"strings"
)

// Content types of the parts of user data; nodeadm and cloud-init read them.
const (
	nodeConfigType = "application/node.eks.aws"
	shellType      = `text/x-shellscript; charset="us-ascii"`
)

type mimePart struct {
	header textproto.MIMEHeader
	body   string
}

func partOf(contentType, body string) mimePart {
	return mimePart{textproto.MIMEHeader{"Content-Type": {contentType}}, body}
}

// inMIME is user data of the user's parts, as they are read, and the generated part.
func inMIME(n Node, read func(text string) ([]mimePart, error), contentType string, generate func(Node) (string, error)) (string, error) {
	if err := n.check(); err != nil {
		return "", err
	}
	parts, err := read(n.text())
	if err != nil {
		return "", err
	}
	generated, err := generate(n)
	if err != nil {
		return "", err
	}
	text, err := joinMIME(append(parts, partOf(contentType, generated)))
	if err != nil {
		return "", err
	}
	return n.bounded(text)
}

// userParts reads the user's text. It is MIME multipart text, a NodeConfig, or else a
// shell script. Empty text has no parts.
func userParts(text string) ([]mimePart, error) {
	if !isMIME(text) && isNodeConfig(text) {
		return []mimePart{partOf(nodeConfigType, text)}, nil
	}
	return scriptParts(text)
}

// scriptParts is userParts for instances that know no NodeConfig.
func scriptParts(text string) ([]mimePart, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, nil
	case isMIME(text):
		return splitMIME(text)
	}
	return []mimePart{partOf(shellType, text)}, nil
}

func isMIME(text string) bool {
	text = trimmed(text)
	return strings.HasPrefix(text, "MIME-Version:") || strings.HasPrefix(text, "Content-Type:")
}

// trimmed is the text without the empty lines that a template may have left before it.
func trimmed(text string) string { return strings.TrimLeft(text, " \t\r\n") }

// isNodeConfig looks for the apiVersion that nodeadm demands in every NodeConfig, in YAML or JSON.
func isNodeConfig(text string) bool {
	return !strings.HasPrefix(text, "#!") &&
		regexp.MustCompile(`(?m)^\s*["']?apiVersion["']?\s*:\s*["']?node\.eks\.aws/`).MatchString(text)
}

// splitMIME leaves the parts as they are: cloud-init knows what their headers mean.
func splitMIME(text string) ([]mimePart, error) {
	const remedy = "give a valid MIME multipart text, a NodeConfig or a shell script"
	message, err := mail.ReadMessage(strings.NewReader(trimmed(text)))
	if err != nil {
		return nil, fmt.Errorf("spec.userData read MIME header: %w: %s", err, remedy)
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return nil, fmt.Errorf("spec.userData: Content-Type %q is not multipart: %s", message.Header.Get("Content-Type"), remedy)
	}
	var parts []mimePart
	for reader := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && len(parts) > 0 {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("spec.userData read MIME part %d: %w: %s", len(parts)+1, err, remedy)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("spec.userData read MIME part %d: %w: %s", len(parts)+1, err, remedy)
		}
		parts = append(parts, mimePart{part.Header, string(body)})
	}
}

// joinMIME writes a multipart text without carriage returns. The boundary is Karpenter's,
// made longer until no part has a line that begins with it.
func joinMIME(parts []mimePart) (string, error) {
	for i := range parts {
		parts[i].body = strings.ReplaceAll(parts[i].body, "\r", "")
	}
	boundary := "//"
	for containsLine(parts, "--"+boundary) {
		boundary += "="
	}
	var out strings.Builder
	fmt.Fprintf(&out, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n", boundary)
	writer := multipart.NewWriter(&out)
	if err := writer.SetBoundary(boundary); err != nil {
		return "", fmt.Errorf("spec.userData: has lines that begin with the boundaries --//, --//= and so on: remove these lines: %w", err)
	}
	for _, p := range parts {
		part, err := writer.CreatePart(p.header)
		if err != nil {
			return "", fmt.Errorf("user data write part: %w", err)
		}
		if _, err := io.WriteString(part, p.body); err != nil {
			return "", fmt.Errorf("user data write part: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return "", fmt.Errorf("user data write end: %w", err)
	}
	return strings.ReplaceAll(out.String(), "\r", ""), nil
}

func containsLine(parts []mimePart, prefix string) bool {
	for _, p := range parts {
		for line := range strings.Lines(p.body) {
			if strings.HasPrefix(line, prefix) {
				return true
			}
		}
	}
	return false
}
