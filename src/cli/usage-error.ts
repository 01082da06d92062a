import type { CommanderError } from 'commander'
import { isKnownBlockchain } from '../api/blockchains.ts'
import { count } from '../core/count.ts'
import { flagError, GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { shellWord } from '../core/shell-word.ts'
import { type GdnCommand, usageHint } from './command.ts'

/**
 * Returns the error for arguments that commander rejected.
 *
 * @param argv the arguments before `--`
 */
export function usageError(error: CommanderError, command: GdnCommand, argv: readonly string[]): GdnError {
  const isUnknown = error.code === 'commander.unknownOption'
  const lone = isUnknown ? switchWithValue(error.message, command, argv) : undefined
  if (lone !== undefined) {
    return flagError(lone, 'takes no value', `Use ${lone} alone, or omit it.`)
  }
  const near = isUnknown ? nearestFlag(error.message, command) : undefined
  const hint = isUnknown
    ? (dataDirHint(error.message, command) ??
      dashedFileHint(argv, command) ??
      findAlternativeCommand(error.message, command, argv))
    : undefined
  return new GdnError('usage', rewordMessage(error, command), {
    hint: hint ?? excessHint(error, command) ?? (near === undefined ? usageHint(command) : `Did you mean ${near}?`),
  })
}

/** If the command takes a file, returns a hint for a file whose name begins with a hyphen. */
function dashedFileHint(argv: readonly string[], { registeredArguments }: GdnCommand): string | undefined {
  const takesFile = registeredArguments.some((argument) => FILE_ARGUMENTS.has(argument.name()))
  const file = takesFile ? argv.find((word) => DASHED_FILE.test(word)) : undefined
  return file === undefined ? undefined : `If ${file} is a file, use ./${file}.`
}

const FILE_ARGUMENTS: ReadonlySet<string> = new Set(['manifest', 'plan'])
const DASHED_FILE = /^-[\w.-]+\.(?:csv|tsv|jsonl?|ndjson)$/i

/** Returns the command to run instead of a flag that users may expect but the command doesn't have. */
function findAlternativeCommand(message: string, command: GdnCommand, argv: readonly string[]): string | undefined {
  const name = command.name()
  const list = /'(--to|--receivers)(?==|')/.exec(message)?.[1]
  if (name === 'batch mint' && list !== undefined) return 'Did you mean --to?'
  if (name === 'batch validate' && list !== undefined) {
    return `To check a manifest with a list of receivers, run \`gdn batch mint ${namedFiles(argv, list)} --dry-run\`.`
  }
  if (name === 'apply' && message.includes("'--dry-run'"))
    return 'Run `gdn plan` to show the changes without making them.'
  if ((name === 'apply' || name === 'plan') && list !== undefined)
    return `${name === 'plan' && list === '--to' ? 'Did you mean --out? ' : ''}Only \`gdn batch mint\` accepts a list of receivers.`
  if (name === 'nft mint' && list !== undefined)
    return 'To mint an NFT to a list of receivers, run `gdn batch mint <manifest> --to <list>`.'
  return undefined
}

/** Returns the manifest and the list of receivers as arguments of `batch mint`, or placeholders for them. */
function namedFiles(argv: readonly string[], flag: string): string {
  const files = argv.map((word) => word.replace(`${flag}=`, '')).filter((word) => MANIFEST_FILE.test(word))
  const typed = argv.at(argv.indexOf(flag) + 1) ?? ''
  const list = argv.includes(flag) ? typed : argv.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1)
  const manifest = files.find((file) => file !== list)
  const isListFile = list !== undefined && files.includes(list)
  return `${manifest === undefined ? '<manifest>' : shellWord(manifest)} --to ${isListFile ? shellWord(list) : '<list>'}`
}

/** Returns a hint for a flag that selects a server, if the command uses the files of a backend instead. */
function dataDirHint(message: string, command: GdnCommand): string | undefined {
  const acts = command.options.some(({ long }) => long === '--data-dir')
  if (!acts || !/'--(local|base-url|profile)\b/.test(message)) return undefined
  return 'Omit the flag. This command works on the data directory of a backend, by default that of `gdn local start`.\nFor another backend, add --data-dir <dir>.'
}

/**
 * Returns the flag in an argument such as `--local=true` or `-y=true`, if the command has this flag and the flag takes
 * no value. For a group of short flags, commander reports only the rest, such as `-=true`.
 */
function switchWithValue(message: string, command: GdnCommand, argv: readonly string[]): string | undefined {
  const [, long, rest] = /'(?:(--[a-z-]+)|-)(=.*)'/s.exec(message) ?? []
  const group = argv.find((word) => /^-[a-zA-Z]+=/.test(word) && word.endsWith(rest ?? '\0'))
  const name = long ?? `-${group?.charAt(group.indexOf('=') - 1)}`
  const switchOption = command.options.find(
    (option) => (option.long === name || option.short === name) && !option.required && !option.optional,
  )
  return switchOption === undefined ? undefined : name
}

/**
 * Returns a hint for an excess argument. The hint names a flag that accepts such a value. Doesn't repeat the argument,
 * because it may be a key.
 */
function excessHint({ code }: CommanderError, command: GdnCommand): string | undefined {
  if (code !== 'commander.excessArguments') return undefined
  const takesFile = command.options.some(({ flags }) => flags === '-f, --file <file>')
  const excess = command.args[command.registeredArguments.length] ?? ''
  const several = severalHint(excess, command)
  if (several !== undefined) return several
  if (takesFile && /\.json$/i.test(excess)) {
    const parts = [command.name(), ...command.registeredArguments.map((argument) => `<${argument.name()}>`)]
    return `To send a request from a file, run \`gdn ${parts.join(' ')} -f <file>\`.`
  }
  const meant = FLAGS_BY_VALUE_FORM.find(([isMeant]) => isMeant(excess))?.[1] ?? []
  const flagNames = command.name().endsWith('transfer') && meant.includes('--receiver') ? ['--receiver'] : meant
  const visible = command.createHelp().visibleOptions(command)
  const isSet = (name: string) => command.getOptionValueSource(name) === 'cli'
  const flag = flagNames
    .flatMap((long) => visible.find((option) => option.long === long) ?? [])
    .find((option) => !isSet(option.attributeName()))
  return flag === undefined ? undefined : `Did you mean ${flag.flags.replace(/^-\w, /, '')}?`
}

/** Returns a hint for a second NFT or manifest; undefined for other excess arguments. */
function severalHint(excess: string, command: GdnCommand): string | undefined {
  const argument = command.registeredArguments.at(-1)?.name()
  if (argument === 'manifest' && FILE_NAME.test(excess)) {
    const isList = command.name() === 'batch mint' && MANIFEST_FILE.test(excess)
    return `Specify one manifest.${isList ? ' To mint to a list of receivers, add --to <list>.' : ''}`
  }
  if (!command.name().startsWith('nft ') || argument === undefined || !NFT_PATTERN.test(excess)) return undefined
  const others = command.name() === 'nft transfer' ? CHANGE_RECEIVERS_HINT : ''
  return `Specify one NFT.${others}`
}

/** Matches a name with an extension or a path, such as `lamps.bak` or `old/lamps`. */
const FILE_NAME = /^(?!https?:)[^@\s]+(?:\.\w{1,8}|\/[^@\s]+)$/i
const MANIFEST_FILE = /\.(?:csv|tsv|txt|jsonl?|ndjson)$/i
const NFT_PATTERN = /^(?:\S*\/)?\d+$|^[0-9a-f]{8}-[0-9a-f-]{27}$/i
const CHANGE_RECEIVERS_HINT =
  ' To transfer several NFTs of a manifest, change their receivers in the manifest, and run `gdn apply`.'

/** The flags that accept a certain form of value, the most likely flag first. */
const FLAGS_BY_VALUE_FORM: readonly (readonly [(value: string) => boolean, readonly string[]])[] = [
  [(value) => /^https?:/i.test(value), ['--base-url']],
  [(value) => /^(?:0x[0-9a-f]{40}$|@)/i.test(value), ['--contract', '--wallet', '--receiver']],
  [(value) => /^\d+$/.test(value), ['--port']],
  [isKnownBlockchain, ['--blockchain']],
  [() => true, ['--name', '--title', '--contract']],
]

/**
 * Rewords commander's messages. Doesn't repeat excess arguments or the values of unknown flags, because they may be
 * keys.
 */
function rewordMessage({ code, message }: CommanderError, command: GdnCommand): string {
  if (code === 'commander.excessArguments') {
    const [most, got] = [command.registeredArguments.length, command.args.length]
    const takes = most === 0 ? 'accepts no arguments' : `accepts at most ${count(most, 'argument')}`
    const isSeveral = severalHint(command.args[most] ?? '', command) !== undefined
    return `gdn ${command.name()} ${takes}, but got ${got}${isSeveral ? '' : ': quote values that contain spaces'}`
  }
  const value = /^error: option '(.*)' argument missing$/s.exec(message)
  if (value !== null) return `the flag ${value[1]} needs a value`
  return message
    .replace(/^error: /, '')
    .replace(/^(unknown option) '([^=]*)(?:=.*)?'$/s, '$1 "$2"')
    .replace(/^(missing required argument) '(.*)'$/s, '$1 "$2"')
}

/** Flags that specify the output file. Each command has at most one of them. */
const FILE_FLAGS: Readonly<Record<string, string>> = { '--out': '--to', '--to': '--out' }

/** Returns the flag of the command that the user probably meant, by its name or an alias. */
function nearestFlag(message: string, command: GdnCommand): string | undefined {
  const typed = /'(.*)'/s.exec(message)?.[1] ?? ''
  const visible = command.createHelp().visibleOptions(command)
  const names = visible.flatMap(({ long, short }) => [long ?? '', short ?? '']).filter((name) => name.length > 2)
  // Don't suggest the opposite of a flag.
  const negates = (flag: string) => flag.startsWith('--no-')
  const knownFlags = [...names, ...Object.keys(command.text.aliases ?? {})].filter(
    (flag) => negates(flag) === negates(typed),
  )
  const name = typed.replace(/=.*$/s, '')
  const keyFile = `${name}-file`
  if (knownFlags.includes(keyFile)) return keyFile
  const file = FILE_FLAGS[name]
  return file !== undefined && knownFlags.includes(file) ? file : nearest(name, knownFlags)
}
