package ec2sim

import (
	"encoding/xml"
	"time"
)

// set is a list of the EC2 protocol: one wrapping element with an <item> per
// member. Without omitempty the wrapper is written even when there is none,
// as EC2 does.
type set[T any] []T

// MarshalXML writes the members as <item> elements.
func (s set[T]) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, item := range s {
		if err := e.EncodeElement(item, xml.StartElement{Name: xml.Name{Local: "item"}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// stamp renders a time as EC2 does: UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// done is the answer of actions that only confirm.
type done struct {
	Return bool `xml:"return"`
}

// tag is one tag in a request or an answer.
type tag struct {
	Key   string `q:"Key" xml:"key" filter:"tag-key"`
	Value string `q:"Value" xml:"value"`
}

// tagSpec says which tags a resource that a call creates shall have.
type tagSpec struct {
	ResourceType string `q:"ResourceType"`
	Tags         []tag  `q:"Tag"`
}
