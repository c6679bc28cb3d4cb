package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// logs answers with what a container has written, its earlier processes
// included: they share a file.
func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	p, ok := s.pod(w, r)
	if !ok {
		return
	}
	name, query := r.PathValue("container"), r.URL.Query()
	if !slices.ContainsFunc(p.object.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", name, p.object.Name), http.StatusNotFound)
		return
	}
	most := -1
	for option := range query {
		value := query.Get(option)
		switch option {
		case "tailLines":
			number, err := strconv.Atoi(value)
			if err != nil || number < 0 {
				http.Error(w, fmt.Sprintf("tailLines %q is not a number of lines", value), http.StatusBadRequest)
				return
			}
			most = number
		case "stream":
			if value != corev1.LogStreamAll {
				http.Error(w, fmt.Sprintf("one stream of logs: %v", errUnsupported), http.StatusBadRequest)
				return
			}
		default:
			http.Error(w, fmt.Sprintf("%s of logs: %v", option, errUnsupported), http.StatusBadRequest)
			return
		}
	}
	text, err := os.ReadFile(s.kubelet.logFile(p.object.Namespace, p.object.Name, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start", name, p.object.Name), http.StatusBadRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(lastLines(text, most)) // a client that has gone needs no answer
	}
}

// lastLines is the end of a text: so many lines, or all where most is negative.
func lastLines(text []byte, most int) []byte {
	if most < 0 {
		return text
	}
	from := len(text)
	for ; most > 0 && from > 0; most-- {
		from = 1 + bytes.LastIndexByte(text[:from-1], '\n')
	}
	return text[from:]
}
