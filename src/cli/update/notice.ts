import { spawn } from 'node:child_process'
import { sep } from 'node:path'
import { childEnvironment } from '../../core/child-environment.ts'
import { isSet } from '../io/io.ts'
import { readUpdateCache, type UpdateCache, writeUpdateCache } from './cache.ts'
import { type Installed, installedPackage } from './installed.ts'

const DAY_MS = 24 * 60 * 60_000

/** The word by which gdn starts itself to ask the registry; main.ts knows it. */
const CHECK_WORD = '--check-for-update'

interface NoticeEdge {
  env: NodeJS.ProcessEnv
  cwd: string
  stderr: { isTTY?: boolean; write(text: string): unknown }
  program: { node: string; script: string }
  now: number
  installed?: () => Installed | null
}

/** Whether anybody wants to read of new versions here. */
export function wantsNotice(env: NodeJS.ProcessEnv, stderrTty: boolean): boolean {
  const off = [env.GDN_NO_UPDATE_NOTICE, env.NO_UPDATE_NOTIFIER, env.CI, env.GITHUB_ACTIONS, env.CONTINUOUS_INTEGRATION]
  return stderrTty && env.TERM !== 'dumb' && !off.some(isSet)
}

/**
 * Says at most once a day that there is a newer version, from what was found out before; where that is a day old, has
 * it found out anew by a process that nothing waits for.
 *
 * update-notifier would bring some forty packages for this, and simple-update-notifier asks npmjs.org whatever registry
 * npm is configured with, in the way of the command.
 */
export function updateNotice({ env, cwd, stderr, program, now, installed = installedPackage }: NoticeEdge): void {
  if (!wantsNotice(env, stderr.isTTY === true)) return
  try {
    const found = installed()
    if (found === null) return
    const cache = readUpdateCache(env)
    // A clock that was set back makes a time of the future count as long ago.
    const isDue = (time: number) => time > now || now - time >= DAY_MS
    const notifies = cache.latest !== null && isNewer(cache.latest, found.version) && isDue(cache.notifiedAt)
    const asks = isDue(cache.checkedAt)
    if (!notifies && !asks) return
    const next: UpdateCache = {
      ...cache,
      ...(notifies ? { notifiedAt: now } : {}),
      ...(asks ? { checkedAt: now } : {}),
    }
    // Written first: what can't be remembered is neither told nor asked again with every command.
    writeUpdateCache(env, next)
    if (notifies) stderr.write(noticeText(found, cache.latest ?? '', cwd))
    if (asks) {
      const childEnv = childEnvironment(env, { proxies: true })
      spawn(program.node, [program.script, CHECK_WORD], { detached: true, stdio: 'ignore', env: childEnv }).unref()
    }
  } catch {
    // It is a courtesy: nothing of it may disturb a command.
  }
}

function noticeText({ name, version, root }: Installed, latest: string, cwd: string): string {
  const isOfProject = root.startsWith(`${cwd}${sep}node_modules${sep}`)
  const install = isOfProject ? `npm install ${name}@latest` : `npm install -g ${name}`
  return `\ngdn ${latest} is there; this is ${version}. Get it: ${install}\n  GDN_NO_UPDATE_NOTICE=1 turns this notice off.\n`
}

/** Whether `a` is newer than `b`, for releases; whatever else a registry says is newer than nothing. */
export function isNewer(a: string, b: string): boolean {
  const [left, right] = [numbers(a), numbers(b)]
  if (left === null || right === null) return false
  for (const [i, number] of left.entries()) {
    const other = right[i] ?? 0
    if (number !== other) return number > other
  }
  return false
}

function numbers(version: string): number[] | null {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(version)
  return match === null ? null : match.slice(1).map(Number)
}
