package awssim

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// answer is a response that is ready to be written.
type answer struct {
	status int
	header map[string]string
	body   []byte
}

func (a answer) write(w http.ResponseWriter) {
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	// The client may be gone; there is nobody to tell.
	_, _ = w.Write(a.body)
}

// success writes what a service answered.
func (p protocol) success(action, id string, value any) (answer, error) {
	a := answer{status: http.StatusOK, header: map[string]string{"X-Amzn-Requestid": id}}
	var err error
	switch p.family {
	case ec2Query, awsQuery:
		a.header["Content-Type"] = "text/xml;charset=UTF-8"
		a.body, err = p.xml(action, id, value)
	default:
		a.header["Content-Type"] = p.contentType
		if value == nil {
			value = struct{}{}
		}
		a.body, err = json.Marshal(value)
	}
	return a, err
}

// xml writes <ActionResponse>. EC2 puts the members right in it, the others in
// an <ActionResult>.
func (p protocol) xml(action, id string, value any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(xml.Header + `<` + action + `Response xmlns="` + p.namespace + `">`)
	if p.family == ec2Query {
		out.WriteString("<requestId>" + id + "</requestId>")
		if value != nil {
			element, err := marshalElement("r", value)
			if err != nil {
				return nil, err
			}
			// The members only, without the element that encoding/xml puts round them.
			out.Write(bytes.TrimSuffix(bytes.TrimPrefix(element, []byte("<r>")), []byte("</r>")))
		}
	} else {
		if value != nil {
			element, err := marshalElement(action+"Result", value)
			if err != nil {
				return nil, err
			}
			out.Write(element)
		}
		out.WriteString("<ResponseMetadata><RequestId>" + id + "</RequestId></ResponseMetadata>")
	}
	out.WriteString("</" + action + "Response>")
	return out.Bytes(), nil
}

func marshalElement(name string, value any) ([]byte, error) {
	var out bytes.Buffer
	enc := xml.NewEncoder(&out)
	if err := enc.EncodeElement(value, xml.StartElement{Name: xml.Name{Local: name}}); err != nil {
		return nil, err
	}
	if err := enc.Flush(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// asWireError makes an AWS error of any error; what is not one is a fault of the simulator.
func asWireError(err error) *wire.Error {
	var e *wire.Error
	if !errors.As(err, &e) {
		return &wire.Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError, Fault: true}
	}
	out := *e
	if out.Status == 0 {
		out.Status = http.StatusBadRequest
	}
	return &out
}

// failure writes an error as the service's protocol has it.
func (p protocol) failure(service, id string, e *wire.Error) answer {
	a := answer{status: e.Status, header: map[string]string{"X-Amzn-Requestid": id}}
	party := "Sender"
	if e.Fault {
		party = "Receiver"
	}
	switch p.family {
	case ec2Query:
		a.header["Content-Type"] = "text/xml;charset=UTF-8"
		a.body = []byte(xml.Header + "<Response><Errors><Error><Code>" + escape(e.Code) + "</Code><Message>" + escape(e.Message) +
			"</Message></Error></Errors><RequestID>" + id + "</RequestID></Response>")
	case awsQuery:
		a.header["Content-Type"] = "text/xml;charset=UTF-8"
		a.body = []byte(`<ErrorResponse xmlns="` + p.namespace + `"><Error><Type>` + party + "</Type><Code>" + escape(e.Code) + "</Code><Message>" +
			escape(e.Message) + "</Message></Error><RequestId>" + id + "</RequestId></ErrorResponse>")
	default:
		shape := e.Code
		a.header["Content-Type"] = p.contentType
		if service == "sqs" {
			a.header["X-Amzn-Query-Error"] = e.Code + ";" + party
			if s, ok := sqsShapes()[e.Code]; ok {
				shape = s
			}
		}
		a.header["X-Amzn-Errortype"] = shape
		// Strings always marshal.
		a.body, _ = json.Marshal(map[string]string{"__type": shape, p.messageKey: e.Message})
	}
	return a
}

func escape(text string) string {
	var out bytes.Buffer
	// A buffer does not fail.
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
