import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { flagError } from '../../core/errors.ts'
import { isDirectory } from '../../core/path-exists.ts'
import { GdnCommand } from '../command.ts'
import { type MaxCost, type Money, parseMaxCostFlag } from '../cost/price.ts'
import type { Deps } from '../deps.ts'
import {
  addCommonFlags,
  addServerFlags,
  type CommonFlags,
  duration,
  notEmpty,
  type ServerFlags,
  someOf,
} from '../flags/common.ts'
import { addEnsFlags, type EnsFlags } from '../flags/ens.ts'
import type { LocalFilesIn } from '../mcp/row-files.ts'
import { TOOLSET_WORDS } from '../mcp/toolsets.ts'

interface McpFlags extends CommonFlags, ServerFlags, EnsFlags {
  allowWrites?: boolean
  allowSpending?: boolean
  maxCost?: MaxCost
  root?: string
  passwordFile?: string
  callTimeout?: number
  toolsets?: (typeof TOOLSET_WORDS)[number][]
}

const DEFAULT_CALL_TIMEOUT_MS = 50_000

export function command(deps: Deps, run = mcp): GdnCommand {
  const PERMITS = 'Permissions of the agent'
  return new GdnCommand({
    about:
      'The command serves the other commands as tools of the Model Context Protocol (MCP) on standard input and output, for coding agents. Without flags, the tools are read-only. A tool that changes something returns a plan first, and runs each plan only once. docs/agents.md shows how to add gdn to agents, and describes the flags and toolsets.',
    examples: [
      ['Give an agent read-only access', 'gdn mcp'],
      ['Let an agent mint on the local backend', 'gdn mcp --local --allow-writes'],
      ['Also offer the tools for runs and NFTs', 'gdn mcp --local --allow-writes --toolsets default,runs,nfts'],
      [
        'Let an agent spend at most 5 POL on public networks',
        'gdn mcp --allow-writes --allow-spending --max-cost 5POL',
      ],
    ],
  })
    .switchFlag('--allow-writes', 'Offer tools that change something', PERMITS)
    .switchFlag('--allow-spending', 'Let tools spend coins on public networks, up to --max-cost', PERMITS)
    .valueFlag('--max-cost <amount>', 'Maximum cost of the session, with its currency: 5POL or 10USD', {
      group: PERMITS,
      parse: parseMaxCostFlag,
    })
    .valueFlag('--root <dir>', 'Directory that tools can read and write (the current directory)', {
      group: PERMITS,
      parse: notEmpty,
    })
    .valueFlag(
      '--password-file <file>',
      'File with the password of the wallets that tools generate or use for signing',
      {
        group: PERMITS,
        parse: notEmpty,
      },
    )
    .valueFlag(
      '--toolsets <names>',
      `Toolsets to offer: ${TOOLSET_WORDS.slice(0, -1).join(', ')} or ${TOOLSET_WORDS.at(-1)} (the toolset default)`,
      { group: PERMITS, parse: someOf(TOOLSET_WORDS) },
    )
    .valueFlag('--call-timeout <time>', 'How long a call waits before it returns `running` (50s)', duration)
    .with((own) => addEnsFlags(own, PERMITS), addServerFlags, addCommonFlags)
    .action(async (flags: McpFlags) => await run(deps, flags))
}

export async function mcp(deps: Deps, flags: McpFlags): Promise<void> {
  const limit = resolveSessionLimit(flags)
  const root = await resolveDirectory(resolve(deps.cwd, flags.root ?? '.'))
  const passwordFile = flags.passwordFile === undefined ? null : await resolvePasswordFile(deps, flags.passwordFile)
  const { stateDir } = await deps.settings(flags)
  const { baseUrl, local, profile } = flags
  // Some commands resolve paths relative to the working directory of the process.
  process.chdir(root)
  deps.signals.own()
  if (deps.io.stdin.isTTY)
    deps.io.note('Waiting for messages from an agent. docs/agents.md shows how to add gdn to an agent.')
  const { serveTools } = await import('../mcp/server.ts')
  await serveTools(
    { ...deps, cwd: root },
    {
      allowWrites: flags.allowWrites === true,
      maxCost: limit,
      root,
      operatorFlags: [
        ...(local ? ['--local'] : []),
        ...(baseUrl === undefined ? [] : [`--base-url=${baseUrl}`]),
        ...(profile === undefined ? [] : [`--profile=${profile}`]),
        ...(flags.ccip === false ? ['--no-ccip'] : []),
        `--state-dir=${stateDir}`,
      ],
      passwordFile,
      toolsets: flags.toolsets ?? ['default'],
      callTimeoutMs: flags.callTimeout ?? DEFAULT_CALL_TIMEOUT_MS,
      stateDir,
      localFilesIn: async (path, options) => await localFilesIn(deps, root, path, options),
    },
  )
}

/**
 * Returns the local files to which a manifest's rows refer. Also returns the project's configuration file if it has
 * settings for columns, because they affect which columns name files.
 */
async function localFilesIn({ env }: Deps, root: string, path: string, options: Parameters<LocalFilesIn>[1]) {
  const [manifest, { loadProjectFile }] = await Promise.all([
    import('../batch/mint-manifest.ts'),
    import('../../config/project-file.ts'),
  ])
  const project = await loadProjectFile(root, env.HOME)
  const { map, unknown_columns } = project?.config ?? {}
  const files = await manifest.findLocalFiles(path, { ...options, defaultMap: Object.entries(map ?? {}) })
  return project === null || (map ?? unknown_columns) === undefined ? files : new Set([...files, project.path])
}

/**
 * Returns the path of a password file. Checks the file now, because a session can't prompt for a password later.
 *
 * @throws GdnError `invalid_input`
 */
async function resolvePasswordFile({ cwd }: Deps, file: string): Promise<string> {
  const { readPasswordFile } = await import('../../keystore/password.ts')
  const path = resolve(cwd, file)
  readPasswordFile(path)
  return path
}

/**
 * Returns the real path of a directory.
 *
 * @throws GdnError `usage`
 */
async function resolveDirectory(path: string): Promise<string> {
  if (await isDirectory(path)) return await realpath(path)
  throw flagError('--root', `${path} is not a directory`)
}

/** @throws GdnError `usage` if flags contradict each other, or if the limit is missing or has no currency */
function resolveSessionLimit({ allowWrites, allowSpending, maxCost: most }: McpFlags): Money | null {
  if (!allowSpending) {
    if (most === undefined) return null
    throw flagError('--max-cost', 'requires --allow-spending', 'Add --allow-spending, or omit --max-cost.')
  }
  if (!allowWrites) throw flagError('--allow-spending', 'requires --allow-writes', 'Add --allow-writes.')
  if (most === undefined) throw flagError('--max-cost', 'is required with --allow-spending', 'Add --max-cost <amount>.')
  if ('amount' in most) return most
  throw flagError(
    '--max-cost',
    'requires a currency, because networks have different coins',
    'Use an amount such as 5POL or 10USD.',
  )
}
