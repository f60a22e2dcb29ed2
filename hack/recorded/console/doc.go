// Package console plays recorded sessions of kubectl: files in which each command line is followed by what it printed. The
// output is recorded with a real kube-apiserver; another server is held against it.
//
// A file is read line by line. What a line is, its beginning says:
//
//	# remark, like an empty line without a meaning
//	$ kubectl get pods: a command line for sh, in the directory of the file
//	% in what the other server's output may differ
//	< NAME   READY: a line of the recorded output, of both standard output and standard error
//	< exit status 1: the last line where the command failed
//
// In the output, what differs from run to run (uids, resource versions, times, ages, the server's address) stands under
// names, and the columns of tables are set apart by two spaces, because they are as wide as the ages in them.
package console
