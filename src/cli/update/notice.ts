import { spawn } from 'node:child_process'
import { sep } from 'node:path'
import { childEnvironment } from '../../core/child-environment.ts'
import type { Command } from '../../core/own-command.ts'
import { isSet } from '../io/io.ts'
import { readUpdateCache, type UpdateCache, writeUpdateCache } from './cache.ts'
import { type InstalledPackage, installedPackage } from './installed.ts'

const DAY_MS = 24 * 60 * 60_000

/** Hidden flag of the detached update check. `main.ts` handles it. */
const UPDATE_CHECK_FLAG = '--check-for-update'

interface NoticeEdge {
  env: NodeJS.ProcessEnv
  cwd: string
  stderr: { isTTY?: boolean; write(text: string): unknown }
  program: Command
  now: number
  installed?: () => InstalledPackage | null
}

/** Returns whether to show update notices in this environment. */
export function wantsNotice(env: NodeJS.ProcessEnv, stderrTty: boolean): boolean {
  const off = [env.GDN_NO_UPDATE_NOTICE, env.NO_UPDATE_NOTIFIER, env.CI, env.GITHUB_ACTIONS, env.CONTINUOUS_INTEGRATION]
  return stderrTty && env.TERM !== 'dumb' && !off.some(isSet)
}

/**
 * Shows a notice about a newer version at most once a day, based on the cached result of the last check. If this check
 * is a day old, starts a detached process that checks again.
 *
 * gdn doesn't use update-notifier, which would add about forty packages. It doesn't use simple-update-notifier either,
 * which queries npmjs.org instead of the configured registry, and delays the command.
 */
export function updateNotice({ env, cwd, stderr, program, now, installed = installedPackage }: NoticeEdge): void {
  if (!wantsNotice(env, stderr.isTTY === true)) return
  try {
    const ownPackage = installed()
    if (ownPackage === null) return
    const cache = readUpdateCache(env)
    // A time in the future means that the clock was set back. It counts as more than a day ago.
    const isDue = (time: number) => time > now || now - time >= DAY_MS
    const notifies = cache.latest !== null && isNewer(cache.latest, ownPackage.version) && isDue(cache.notifiedAt)
    const asks = isDue(cache.checkedAt)
    if (!notifies && !asks) return
    const next: UpdateCache = {
      ...cache,
      ...(notifies ? { notifiedAt: now } : {}),
      ...(asks ? { checkedAt: now } : {}),
    }
    // Write the cache before the notice. Otherwise, if the cache is read-only, every command would repeat the notice
    // and the check.
    writeUpdateCache(env, next)
    if (notifies) stderr.write(noticeText(ownPackage, cache.latest ?? '', cwd))
    if (asks) {
      const childEnv = childEnvironment(env, { proxies: true })
      const [file, ...args] = program
      spawn(file, [...args, UPDATE_CHECK_FLAG], { detached: true, stdio: 'ignore', env: childEnv }).unref()
    }
  } catch {
    // The notice is optional, so its errors must not affect a command.
  }
}

function noticeText({ name, version, root }: InstalledPackage, latest: string, cwd: string): string {
  const isOfProject = root.startsWith(`${cwd}${sep}node_modules${sep}`)
  const install = isOfProject ? `npm install ${name}@latest` : `npm install -g ${name}`
  return `\ngdn ${latest} is available (installed: ${version}). To update, run: ${install}\n  Set GDN_NO_UPDATE_NOTICE=1 to turn this notice off.\n`
}

/** Returns whether version `a` is newer than `b`. Only plain releases can be newer. */
export function isNewer(a: string, b: string): boolean {
  const [left, right] = [parseVersion(a), parseVersion(b)]
  if (left === null || right === null) return false
  for (const [i, number] of left.entries()) {
    const other = right[i] ?? 0
    if (number !== other) return number > other
  }
  return false
}

function parseVersion(version: string): number[] | null {
  const match = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(version)
  return match === null ? null : match.slice(1).map(Number)
}
