import type { CommandEffect, ValueType } from '../command.ts'
import type { TreeCommand, TreeFlag } from '../command-tree.ts'
import { DESCRIPTIONS } from './descriptions.ts'
import { OMITTED_FLAGS } from './not-tools.ts'
import { withParameters } from './parameters.ts'
import { findToolset } from './toolsets.ts'

/** A command that agents can call as a tool. */
export interface Tool {
  name: string
  description: string
  /** The command, such as `nft mint`. */
  command: string
  effect: CommandEffect
  inputSchema: { type: 'object'; properties: Record<string, object>; required?: string[]; additionalProperties: false }
  inputs: readonly Input[]
  /** The command's long flags. */
  flags: ReadonlySet<string>
  /** Parameter names, by flag and by `<argument>` as in the command's errors. */
  parameterNames: ReadonlyMap<string, string>
}

/** A tool parameter, and its flag or argument on the command line. */
export interface Input {
  property: string
  form: 'argument' | 'value' | 'list' | 'switch'
  /** The long flag; null for an argument, and for a switch that has only the flag that turns it off. */
  flag: string | null
  /** The flag that turns a switch off. */
  off?: string
  /**
   * Whether the value is a path, is a URL or a path, or contains either one after the `=` of a pair. Null if the value
   * isn't a file.
   */
  file: 'path' | 'url or path' | 'pair' | null
}

export type Values = Readonly<Record<string, unknown>>

/** Parameters for plans. They are added to tools that change something. */
const PLAN_PROPERTIES = {
  dry_run: {
    type: 'boolean',
    default: true,
    description: 'true returns a plan; false runs plan_id',
  },
  plan_id: { type: 'string', format: 'uuid', description: 'Plan to run, with dry_run false' },
}

const OFFSET_SCHEMA = { type: 'integer', minimum: 0, description: 'page.next_offset of the last response' }

/**
 * Maximum number of allowed values that a parameter's schema lists. Longer lists are omitted, because the error for an
 * invalid value names the nearest valid one.
 */
const MAX_LISTED_VALUES = 12

export const toolName = (command: string): string => command.replaceAll(' ', '_')

/** @param extra for `apply`, the flags of `plan` */
export function createTool(command: TreeCommand, extra: readonly TreeFlag[] = []): Tool {
  const { name, effect } = command
  const inputs: Input[] = []
  const properties: Record<string, object> = {}
  const required: string[] = []
  const parameterNames = new Map([['--dry-run', 'dry_run']])
  for (const { name: argument, type, variadic, required: isRequired } of command.arguments) {
    const property = toPropertyName(argument)
    inputs.push({ property, form: 'argument', flag: null, file: type === 'file' ? 'path' : null })
    properties[property] = variadic ? { type: 'array', items: createTextSchema() } : createTextSchema()
    parameterNames.set(`<${argument}>`, property)
    if (isRequired) required.push(property)
  }
  const flags = [...new Map([...command.flags, ...extra].map((flag) => [flag.name, flag])).values()]
  const offered = flags.filter(({ name }) => !Object.hasOwn(OMITTED_FLAGS, name))
  for (const flag of offered) {
    const isOff = flag.name.startsWith('--no-')
    const parameter = isOff ? `${toPropertyName(flag.name)}: false` : toPropertyName(flag.name)
    for (const spelling of [flag.name, flag.short, ...flag.aliases])
      if (spelling !== null) parameterNames.set(spelling, parameter)
  }
  for (const flag of offered) {
    const input = toInput(flag, command.flags)
    if (input === null) continue
    inputs.push(input.input)
    const description = withTools(withParameters(describeFlag(flag), parameterNames))
    properties[input.input.property] = { ...input.schema, description }
  }
  const isRead = effect === 'read'
  return {
    name: toolName(name),
    description: withParameters(describeTool(command, required), parameterNames),
    command: name,
    effect,
    inputSchema: {
      type: 'object',
      properties: { ...properties, ...(isRead ? { offset: OFFSET_SCHEMA } : PLAN_PROPERTIES) },
      // Tools that change something have no required parameters, because a call that runs a plan doesn't repeat the
      // plan's arguments.
      ...(isRead && required.length > 0 ? { required } : {}),
      additionalProperties: false,
    },
    inputs,
    flags: new Set(command.flags.map(({ name: long }) => long)),
    parameterNames,
  }
}

function describeTool({ name, summary, about, effect }: TreeCommand, required: readonly string[]): string {
  const more = DESCRIPTIONS[name] ?? about?.replaceAll('\n', ' ') ?? ''
  const needs = effect === 'read' || required.length === 0 ? '' : ` A plan needs ${required.join(' and ')}.`
  return `${summary}.${more === '' ? '' : ` ${more}`}${needs}`
}

/** Returns a flag's description without the parts that only apply to a terminal. */
const describeFlag = ({ summary, type }: TreeFlag): string =>
  type === 'boolean'
    ? summary.replace(/ \(the default\)|; (?:gdn|exit code) .*$/, '')
    : summary
        .replace(
          /; (?:repeatable|- is standard input)|, or - for standard input| \(- for standard input\)| or a file$/g,
          '',
        )
        .replace('flags override', 'parameters override')

/** Replaces commands in a text with the names of their tools. */
const withTools = (summary: string): string =>
  summary.replace(/`gdn ([a-z]+(?: [a-z]+)?)`/g, (whole, name) => (findToolset(name) === null ? whole : toolName(name)))

const toPropertyName = (name: string) => name.replace(/^--(no-)?/, '').replace(/[^a-z0-9]+/g, '_')

const createTextSchema = (more: object = {}) => ({ type: 'string', ...more })

function toInput(flag: TreeFlag, all: readonly TreeFlag[]): { input: Input; schema: object } | null {
  const { name, type, values, repeatable, placeholder } = flag
  const property = toPropertyName(name)
  if (type === 'boolean') {
    const isOff = name.startsWith('--no-')
    const opposite = isOff ? `--${name.slice('--no-'.length)}` : `--no-${name.slice('--'.length)}`
    const hasOpposite = all.some((other) => other.name === opposite)
    if (isOff && hasOpposite) return null
    const off = isOff ? name : hasOpposite ? opposite : undefined
    const schema = { type: 'boolean', ...(isOff || flag.default === true ? { default: true } : {}) }
    const input: Input = { property, form: 'switch', flag: isOff ? null : name, file: null }
    return { input: off === undefined ? input : { ...input, off }, schema }
  }
  const file = toFileKind(type, placeholder ?? '')
  const item = {
    ...toSchema(type, placeholder ?? ''),
    ...(values === null || values.length > MAX_LISTED_VALUES ? {} : { enum: values }),
  }
  if (type === 'list' || type === 'words') {
    const items = createTextSchema(values === null ? {} : { enum: values })
    const schema = { type: 'array', items, minItems: 1 }
    return { input: { property, form: 'list', flag: name, file }, schema }
  }
  const schema = repeatable ? { type: 'array', items: item } : item
  return { input: { property, form: 'value', flag: name, file }, schema }
}

function toFileKind(type: ValueType, placeholder: string): Input['file'] {
  if (type === 'pair') return placeholder.includes('path') ? 'pair' : null
  if (/url\|path|file-or-url/.test(placeholder)) return 'url or path'
  return type === 'file' || type === 'directory' ? 'path' : null
}

function toSchema(type: ValueType, placeholder: string): object {
  // Accept only a keystore's name, not a path.
  if (placeholder === 'name-or-file') return createTextSchema({ pattern: '^@[^/\\\\]+$' })
  if (type === 'integer' || type === 'number') return { type }
  if (type === 'duration') return createTextSchema({ pattern: '^[0-9]+(ms|s|m|h)$' })
  if (type === 'pair') return createTextSchema({ pattern: '^[^=]+=' })
  return createTextSchema()
}

/** The flags and arguments of a command line. */
export interface CommandWords {
  flags: string[]
  args: string[]
}

/**
 * Returns the command-line words for values that match the schema. No value can be parsed as a flag, because each value
 * is in the same word as its flag, and `formatArgv` puts arguments after `--`.
 *
 * @param flags the only flags to include; default: all
 */
export function commandWords({ inputs }: Tool, values: Values, flags?: ReadonlySet<string>): CommandWords {
  const words: CommandWords = { flags: [], args: [] }
  for (const { property, form, flag, off } of inputs) {
    const value = values[property]
    if (value === undefined || (flags !== undefined && flag !== null && !flags.has(flag))) continue
    const all = Array.isArray(value) ? value.map(String) : [String(value)]
    if (form === 'argument') words.args.push(...all)
    else if (form === 'list') words.flags.push(`${flag}=${all.join(',')}`)
    else if (form === 'value') words.flags.push(...all.map((item) => `${flag}=${item}`))
    else words.flags.push(...[(value === true ? flag : off) ?? []].flat())
  }
  return words
}

export const formatArgv = (command: string, { flags, args }: CommandWords): string[] => [
  ...command.split(' '),
  ...flags,
  '--',
  ...args,
]
