package redistest

import "syscall"

// dieWithParent lets the kernel end the server if the test process is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
