// Ends this process by SIGKILL at the moment at which it would end another one so.
const { kill } = process
process.kill = (pid, signal) => kill.call(process, signal === 'SIGKILL' ? process.pid : pid, signal)
