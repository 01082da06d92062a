import { CommanderError } from 'commander'
import { registerSecrets } from '../config/secret-variables.ts'
import { type ErrorCode, flagError, GdnError } from '../core/errors.ts'
import { EXIT } from '../core/exit-codes.ts'
import { redactText } from '../core/redact.ts'
import { makeCommand, type Verb } from './catalogue.ts'
import { type GdnCommand, usageHint } from './command.ts'
import { insertBackendFlagsIntoError } from './connect/insert-backend-flags.ts'
import { parseIoSettings } from './connect/settings-of-argv.ts'
import type { CommandEdge, Deps, Edge } from './deps.ts'
import type { ServerFlags } from './flags/common.ts'
import { colorLevel } from './io/color.ts'
import { commandSignals } from './io/deadline.ts'
import { escapeWorkflowCommands, isInActions } from './io/in-actions.ts'
import { createIo, type Io } from './io/io.ts'
import type { OutStream } from './io/out-stream.ts'
import { type CommandResult, makeDeps } from './make-deps.ts'
import { reportError } from './render/report-error.ts'
import { resolveNamesInFlags } from './request/named-addresses.ts'
import { route } from './route.ts'
import { proseWidth } from './text/wrap.ts'
import { VERSION } from './version.ts'
import { addQuotesHintToError, dashError } from './word-processor.ts'

/** Runs one command line. Returns the exit code. */
export async function run(argv: readonly string[], outerEdge: Edge): Promise<number> {
  const settings = parseIoSettings(argv, outerEdge.env)
  registerSecrets(outerEdge.env)
  const inActions = isInActions(outerEdge.env) && !settings.machine
  const sanitize = inActions ? (text: string) => escapeWorkflowCommands(redactText(text)) : redactText
  // Use `Object.create` instead of a spread, which would open stdin even for commands that never read it.
  const signals = commandSignals(outerEdge.signals)
  const edge: CommandEdge = Object.create(outerEdge, {
    stderr: { value: transformStream(outerEdge.stderr, sanitize) },
    signals: { value: signals },
  })
  const io = await createIo(edge, settings)
  try {
    return await dispatch(argv, edge, io)
  } catch (error) {
    const code = reportError(io, edge.stderr, error)
    if (isInActions(outerEdge.env) && error instanceof GdnError) {
      const { addErrorSummary, formatAnnotations } = await import('./render/github-actions.ts')
      await addErrorSummary(error, outerEdge)
      if (inActions) outerEdge.stderr.write(redactText(await formatAnnotations(error, outerEdge)))
    }
    return code
  } finally {
    signals.done()
  }
}

/**
 * Returns a stream that converts all text before writing it. Used to redact secrets, and to escape text that a CI
 * runner would execute as a command.
 */
function transformStream(stream: OutStream, change: (text: string) => string): OutStream {
  return Object.create(stream, {
    // This property is writable, because the spinner replaces the function while it runs.
    write: {
      value: (text: string | Uint8Array, ...rest: unknown[]) =>
        Reflect.apply(stream.write, stream, [typeof text === 'string' ? change(text) : text, ...rest]),
      writable: true,
    },
    getColorDepth: { value: stream.getColorDepth?.bind(stream) },
  }) as OutStream
}

async function dispatch(argv: readonly string[], edge: CommandEdge, io: Io): Promise<number> {
  if (argv.includes('--version') && !argv.includes('--')) {
    await io.data(`${VERSION}\n`)
    return EXIT.ok
  }
  const routed = route(argv)
  const isVersion =
    routed.kind === 'unknown'
      ? routed.words.join(' ') === 'version'
      : routed.kind === 'root-help' && argv.includes('-V')
  if (isVersion) {
    await io.data(`${VERSION}\n`)
    return EXIT.ok
  }
  if (routed.kind === 'unknown') {
    const { unknownCommandError } = await import('./help/suggest.ts')
    throw dashError(routed.words) ?? unknownCommandError(routed.words)
  }
  const level = colorLevel(edge.stdout, edge.env, io.settings.noColor)
  if (io.settings.machine && routed.kind !== 'verb') {
    const { helpInJson } = await import('./help/help-json.ts')
    await io.data(await helpInJson(routed, io, async (verb) => (await load(verb, edge, io)).command))
    return EXIT.ok
  }
  switch (routed.kind) {
    case 'topic': {
      const [{ readTopic, topicText }, { headingStyle }] = await Promise.all([
        import('./help/topic.ts'),
        import('./help/help.ts'),
      ])
      const topic = await readTopic(routed.topic.page)
      await io.print(topicText(topic, proseWidth(edge.stdout.columns), await headingStyle(level)))
      return EXIT.ok
    }
    case 'search': {
      const [{ findHelp }, { searchText }, { headingStyle }] = await Promise.all([
        import('./help/find-help.ts'),
        import('./help/search-text.ts'),
        import('./help/help.ts'),
      ])
      const { sections, meant } = await findHelp(routed.words)
      if (meant !== null) io.note(meant)
      await io.print(searchText(sections, proseWidth(edge.stdout.columns), await headingStyle(level)))
      return EXIT.ok
    }
    case 'root-help': {
      const { rootHelp } = await import('./help/help.ts')
      await io.print(await rootHelp(edge.stdout.columns, level))
      return EXIT.ok
    }
    case 'noun-help': {
      const { nounHelp } = await import('./help/help.ts')
      await io.print(await nounHelp(routed.noun, edge.stdout.columns, level))
      return EXIT.ok
    }
    case 'verb-help': {
      const { commandHelp } = await import('./help/command-help.ts')
      const { command } = await load(routed.verb, edge, io)
      await io.print(await commandHelp(command, edge.stdout.columns, level))
      return EXIT.ok
    }
    case 'verb': {
      const { command, deps, result } = await load(routed.verb, edge, io)
      try {
        await parse(command, routed.argv)
      } catch (error) {
        const [{ withOtherBackend }, { withContractSource }] = await Promise.all([
          import('./connect/other-backend.ts'),
          import('./connect/contract-source.ts'),
        ])
        throw withContractSource(await withOtherBackend(error, deps, result.settings), result.settings)
      }
      return result.exitCode
    }
  }
}

async function load(
  verb: Verb,
  edge: CommandEdge,
  io: Io,
): Promise<{ command: GdnCommand; deps: Deps; result: CommandResult }> {
  const result: CommandResult = { exitCode: EXIT.ok }
  const deps = makeDeps(edge, io, result, run, () => command.opts<ServerFlags>().stateDir)
  const command = await makeCommand(verb, deps)
  command.hook('preAction', async () => {
    const { timeout } = command.opts<{ timeout?: number }>()
    if (command.endsAtTimeout && timeout !== undefined) edge.signals.endAfter(timeout)
    await resolveNamesInFlags(command, deps.addresses)
    const { contract } = command.opts<{ contract?: string }>()
    if (contract !== undefined && !/^0x/i.test(contract)) {
      const { resolveContractName } = await import('./connect/named-collection.ts')
      await resolveContractName(command, deps)
    }
  })
  return { command, deps, result }
}

/** Hints for errors that have no hint. */
const DEFAULT_HINTS: Partial<Record<ErrorCode, string>> = {
  invalid_manifest: 'Run `gdn help manifest` for columns and formats.',
  invalid_config: 'Run `gdn help environment` for files and settings.',
  unauthorized: 'Run `gdn auth status --check` to check your keys.',
  unreachable: 'Run `gdn doctor` to check the server.',
  bad_answer: 'Run `gdn doctor` to check the server.',
}

/** Parses the arguments and runs the command. Converts commander's errors to usage errors. */
export async function parse(command: GdnCommand, argv: readonly string[]): Promise<void> {
  const end = argv.indexOf('--')
  const ownArgs = end < 0 ? argv : argv.slice(0, end)
  command.hook('preAction', () => {
    const dashed = dashError(command.args.filter((word) => ownArgs.includes(word)))
    if (dashed !== undefined) throw dashed
  })
  try {
    const spelled = spellAliases(argv, command.text.aliases ?? {})
    refuseFlagsAsValues(command, spelled)
    await command.parseAsync(spelled, { from: 'user' })
  } catch (error) {
    if (error instanceof GdnError) {
      const isInput = ['usage', 'invalid_input'].includes(error.code)
      const hint = isInput ? usageHint(command) : DEFAULT_HINTS[error.code]
      const hinted = hint === undefined ? error : error.withHint(hint)
      throw insertBackendFlagsIntoError(isInput ? addQuotesHintToError(hinted, ownArgs) : hinted, command.opts())
    }
    if (!(error instanceof CommanderError)) throw error
    const { usageError } = await import('./usage-error.ts')
    throw (
      dashError(command.args.filter((word) => ownArgs.includes(word))) ??
      addQuotesHintToError(usageError(error, command, ownArgs), ownArgs)
    )
  }
}

/**
 * Throws for arguments such as `--run --dry-run`, because commander would use the second flag as the value of the
 * first. A value that begins with two hyphens requires an equals sign.
 */
function refuseFlagsAsValues(command: GdnCommand, argv: readonly string[]): void {
  const flagOf = (word = '') => command.options.find(({ long, short }) => word === long || word === short)
  for (let at = 0; at < argv.length && argv[at] !== '--'; at++) {
    const flag = flagOf(argv[at])
    if (flag === undefined && command.passesThrough && !argv[at]?.startsWith('-')) return
    if (!flag?.required) continue
    const value = argv[++at]?.replace(/=.*/s, '') ?? ''
    if (!value.startsWith('--') && flagOf(value) === undefined) continue
    const name = flag.long ?? flag.flags
    if (flag.flags.endsWith('<n>')) throw flagError(name, `needs a number, but ${value} follows`, `Use ${name} <n>.`)
    throw flagError(name, `needs a value, but ${value} follows`, `If ${value} is the value, use ${name}=${value}.`)
  }
}

/** Replaces aliases of long flags. For example, `--receiver-wallet-address=0x…` becomes `--receiver=0x…`. */
function spellAliases(argv: readonly string[], aliases: Readonly<Record<string, string>>): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => {
    if ((end >= 0 && i > end) || !word.startsWith('--')) return word
    const at = word.indexOf('=')
    const name = at < 0 ? word : word.slice(0, at)
    const longFlag = Object.hasOwn(aliases, name) ? aliases[name] : undefined
    return longFlag === undefined ? word : longFlag + word.slice(name.length)
  })
}
