package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestConstants_AreInTheEngineAndHaveOtherValues(t *testing.T) {
	t.Parallel()
	for _, c := range constants() {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", "..", c.file))
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		for _, other := range c.others {
			changed, before, err := c.set(source, other)
			if err != nil {
				t.Error(err)
			} else if before == other || bytes.Equal(changed, source) {
				t.Errorf("%s is %s already", c, other)
			}
		}
	}
}
