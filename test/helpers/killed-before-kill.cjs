// Kills this process with SIGKILL at the moment when it would kill another one.
const { kill } = process
process.kill = (pid, signal) => kill.call(process, signal === 'SIGKILL' ? process.pid : pid, signal)
