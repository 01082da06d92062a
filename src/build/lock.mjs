import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Runs `work` while it holds an exclusive lock on a file. Takes over the lock of a process that has ended, so that a
 * killed build never blocks the next.
 */
export async function withLock(file, work) {
  await mkdir(dirname(file), { recursive: true })
  while (!(await take(file))) await sleep(100)
  try {
    return await work()
  } finally {
    await rm(file, { force: true })
  }
}

async function take(file) {
  const own = `${file}.${process.pid}`
  await writeFile(own, String(process.pid))
  try {
    // The link has its content from the start, so a lock file always names its holder.
    await link(own, file)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  } finally {
    await rm(own, { force: true })
  }
  const holder = Number(await readFile(file, 'utf8').catch(() => process.pid))
  if (!isAlive(holder)) await rm(file, { force: true })
  return false
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
