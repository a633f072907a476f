package bpfvm_test

import (
	"fmt"
	"log"

	"edge/bpfvm"
	"edge/bpfvm/asm"
)

// A program that hands its input to a helper and returns what that says.
func Example() {
	helpers, err := bpfvm.NewHelperTable(bpfvm.HelperSpec{
		Number: 7, Name: "length_of",
		Func: func(t *bpfvm.Task) (uint64, bool) {
			text, ok := t.CString(t.Arg(1), 100)
			if !ok {
				t.Fail("argument 1 is not a string")
			}
			return uint64(len(text)), true
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	insns, err := asm.Parse("call 7\n exit")
	if err != nil {
		log.Fatal(err)
	}
	object, err := bpfvm.LoadInsns("count", insns, bpfvm.Options{Helpers: helpers})
	if err != nil {
		log.Fatal(err)
	}
	defer object.Close()
	instance, err := object.NewInstance()
	if err != nil {
		log.Fatal(err)
	}
	defer instance.Close()

	var task bpfvm.Task
	for _, input := range []string{"hello\x00", "no end"} {
		if err := task.Start(instance, object.Programs()[0], []byte(input)); err != nil {
			log.Fatal(err)
		}
		switch task.Run(object.Slice()) {
		case bpfvm.Done:
			fmt.Println(task.Result())
		case bpfvm.Trap:
			fmt.Println(task.Trap())
		}
	}
	// Output:
	// 5
	// program count, instruction 0 (call length_of): helper length_of: argument 1 is not a string
}
