// Reads Kubernetes objects (YAML) from standard input and decodes each as the API server does, strictly: an
// unknown or repeated field and a value of the wrong type are problems. Prints one line for each object; with
// a problem, on standard error, and the exit code is 1. A kind that is not known is a problem.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, autoscaling.AddToScheme, core.AddToScheme, networking.AddToScheme,
		policy.AddToScheme, monitoring.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	options := json.SerializerOptions{Yaml: true, Strict: true}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	problems := 0
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = check(decoder, document)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "object %d: %v\n", number, err)
			problems++
		}
	}
	if problems > 0 {
		os.Exit(1)
	}
}

func check(decoder runtime.Decoder, document []byte) error {
	object, kind, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return err
	}
	named, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	fmt.Println(kind.Kind, named.GetName())
	return nil
}
