import { stateDirectory } from '../../config/paths.ts'
import { count } from '../../core/count.ts'
import { GdnCommand } from '../command.ts'
import { addDataDirFlag } from '../connect/data-dir.ts'
import { insertBackendFlags } from '../connect/insert-backend-flags.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags, addServerFlags, notEmpty, type OutputFlags, type ServerFlags } from '../flags/common.ts'
import { type Io, safe } from '../io/io.ts'
import { createOutput, type View } from '../render/output.ts'
import { proseWidth, wrap, wrapLine } from '../text/wrap.ts'
import type { BackendFlags } from './doctor/backend.ts'
import { checkSettings, diagnoseConfiguration } from './doctor/configuration.ts'
import { checkEnvironment, checkNetworkSettings, checkNode } from './doctor/environment.ts'
import type { Finding } from './doctor/finding.ts'

export type DoctorFlags = OutputFlags & ServerFlags & BackendFlags

const VIEW: View = {
  fields: ['check', 'status', 'message', 'fix'],
  columns: ['status', 'check', 'message', 'fix'],
  id: 'check',
}

export function command(deps: Deps, run = doctor): GdnCommand {
  return new GdnCommand({
    about:
      'The command checks the configuration, the server, the API key, the clock, the Ethereum node for ENS names, the recorded runs and the requirements of the local backend. To determine the permissions of the key, it sends empty requests, which every server rejects. If --config, --data-dir, --database-url or their environment variables select a backend, the command also checks the database, storage and networks of that backend. To check the state directory and the storage, it writes small files. The command changes nothing else. The first failure determines the exit code: 2, 4, 5 or 6.',
    examples: [
      ['Check the setup', 'gdn doctor'],
      ['Check one server', 'gdn doctor --base-url https://api.example.com'],
      ['Check the database, storage and networks of a backend', 'gdn doctor --config /etc/gdn/backend.yaml'],
      ['Print the failures, for a script', `gdn doctor --json | jq -r '.[] | select(.status == "fail") | .message'`],
    ],
  })
    .with(addServerFlags)
    .valueFlag('--config <file>', 'Configuration of a backend to check', notEmpty)
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: DoctorFlags) => await run(deps, flags))
}

export async function doctor(deps: Deps, flags: DoctorFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const progress = await io.progress('Checking the setup')
  const findings = await examine(deps, flags).finally(() => progress.stop())
  if (output.mode === 'table' && io.stdoutTty && flags.fields === undefined) {
    await io.print(findings.map((finding) => formatFinding(io, finding)).join(''))
  } else {
    await output.many(findings.map(({ check, status, message, fix }) => ({ check, status, message, fix })))
  }
  const failed = findings.filter(({ status }) => status === 'fail')
  const warned = findings.filter(({ status }) => status === 'warn')
  io.note(formatVerdict(failed.length, warned.length))
  deps.setExitCode(failed[0]?.exitCode ?? 0)
}

async function examine(deps: Deps, flags: DoctorFlags): Promise<Finding[]> {
  const { env } = deps
  const { finding, settings } = await checkSettings(deps, flags)
  const { withoutReportedNetworks } = await import('./doctor/readiness.ts')
  const { checkServer } = await import('./doctor/server.ts')
  const { checkRuns, checkStateDirectory } = await import('./doctor/state.ts')
  const { checkLocalBackend } = await import('./doctor/local.ts')
  const { diagnoseBackend } = await import('./doctor/backend.ts')
  const { checkWallets } = await import('./doctor/wallets.ts')
  const { checkEnsNode } = await import('./doctor/ens.ts')
  const { checkNativeParts } = await import('./doctor/native.ts')
  const stateDir = stateDirectory(env, flags.stateDir)
  const state = await checkStateDirectory(stateDir)
  const server = settings === null ? null : await settings.server().catch(() => null)
  const serverFindings = settings === null ? [] : await checkServer(deps, settings)
  const isServerReachable = serverFindings.some(({ check, status }) => check === 'server' && status === 'ok')
  const backend = await diagnoseBackend(deps, flags)
  return [
    checkNode(),
    checkEnvironment(env),
    ...(await diagnoseConfiguration(deps)),
    finding,
    await checkNetworkSettings(env),
    ...(server?.isLoopback ? withoutReportedNetworks(serverFindings, backend) : serverFindings),
    ...(await checkEnsNode(deps, flags)),
    state,
    ...(state.status === 'fail' ? [] : await checkRuns(deps, stateDir)),
    ...(await checkLocalBackend(deps, isServerReachable ? server : null)),
    ...checkWallets(env),
    ...(await checkNativeParts(deps)),
    ...backend.map((finding) => ({
      ...finding,
      fix: finding.fix === null ? null : insertBackendFlags(finding.fix, flags),
    })),
  ]
}

function formatVerdict(failed: number, warned: number): string {
  if (failed + warned === 0) return 'No problems found.'
  const parts = [
    ...(failed === 0 ? [] : [count(failed, 'failure')]),
    ...(warned === 0 ? [] : [count(warned, 'warning')]),
  ]
  return `${parts.join(' and ')}.`
}

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const
const MARK_WIDTH = 6

/** Formats a finding for a terminal: the status, the message, and the fix. */
function formatFinding(io: Io, { check, status, message, fix }: Finding): string {
  const { outPaint } = io
  const paint = { ok: outPaint.good, warn: outPaint.busy, fail: outPaint.bad }[status]
  const width = proseWidth(io.columns) - MARK_WIDTH
  const indent = ' '.repeat(MARK_WIDTH)
  const messageLines = wrap(`${safe(check)}: ${safe(message)}`, width)
  const advice = fix === null ? [] : fix.split('\n').flatMap((line) => wrapLine(`→ ${safe(line)}`, width).split('\n'))
  const [first = '', ...rest] = [...messageLines, ...advice]
  return `${paint(MARKS[status])}  ${first}\n${rest.map((line) => `${indent}${line}\n`).join('')}`
}
