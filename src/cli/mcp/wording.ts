import type { TreeCommand } from '../command-tree.ts'
import { OMITTED_FLAGS } from './not-tools.ts'
import { FLAG_PATTERN, withParameters } from './parameters.ts'
import type { ToolResponse } from './tool-response.ts'
import type { Toolbox } from './toolbox.ts'
import type { Input, Tool } from './tools.ts'

/** Matches a command in a text: in backticks with its arguments, or only its name. */
const COMMAND_PATTERN = /`gdn ([^`\n]+)`|\bgdn ([a-z]+(?: [a-z]+)?)/g
/** Returns a response whose error and hints name tools and parameters instead of commands and flags. */
export function withToolNames(answer: ToolResponse, tool: Tool, toolbox: Toolbox): ToolResponse {
  const wording = new Wording(tool, toolbox)
  const { data, error } = answer
  return {
    ...answer,
    data: Array.isArray(data) ? data.map((record) => wording.record(record)) : wording.record(data),
    error: error && {
      ...error,
      message: wording.message(error.message),
      hint: error.hint && wording.hint(error.hint),
      details: wording.record(error.details),
    },
  }
}

/** Names of fields that contain gdn's own text, or lists of records with such fields. All other fields are data. */
const MESSAGE_FIELDS = new Set(['message', 'reason'])
const HINT_FIELDS = new Set(['hint', 'fix'])
const LIST_FIELDS = new Set(['issues', 'warnings'])
/** The field of a run's summary that contains gdn's own notes. */
const NOTES_FIELD = 'notes'

/** The text that replaces a command. */
interface Replacement {
  text: string
  /** The tool in the new text; null if the text contains a command. */
  tool: Tool | null
  /** The verb that replaces "run"; null if a person must run the command. */
  verb: string | null
}

const CALL_PREFIX = 'Call '
/** Returns whether a hint is about flags or settings of gdn mcp. Only the operator can change them. */
export const isOfOperator = (hint: string) => /\boperator\b.*\bgdn mcp\b/.test(hint)

/**
 * Matches a sentence to remove from hints, because help examples are command lines, and the list of tools describes the
 * parameters.
 */
const EXAMPLES_PATTERN = / Run `gdn [a-z ]+ --help` for examples\./
/** Matches a step to replace in hints, because gdn mcp itself saves the plans of apply. */
const SAVE_AGAIN = /\b(r)un `gdn plan <manifest> --out <file>` again(?:, and review the plan)?/gi
/**
 * Matches a sentence to replace in hints, because the tool `apply` plans a manifest. The tool doesn't accept a plan
 * that was saved in a terminal.
 */
const APPLY_SAVED = /^To apply it, run `gdn apply [^`]*`\.$/
/** Matches a phrase to replace in notes, because the plans of the tool `apply` are always saved. */
const SAVED_WITH_PRUNE = /\bonly by a plan that was saved with --prune and --out$/
/** Matches a sentence to remove from notes, because no tool has the flag that the sentence describes. */
const AGAIN_SENTENCE = /^With --again, [^.]*\.(?: |$)/
/**
 * Matches a step to replace in hints. The arguments of a plan can't be changed, so another flag requires a new plan.
 */
const SAME_COMMAND = /\b(r)un the same command with(?= --)/gi

/** Matches a flag and its value. If the value is a pair such as `Mood=ignore`, the parameter takes a list of pairs. */
const FLAG_WITH_VALUE = /(?<![\w-])(--[a-z-]+) ((?:<[^>\n]*>|'[^'\n]*'|[^\s'<>,.;:)]|[,.;:)](?=\S))+)/g

/** Replaces commands and flags in texts with tools and parameters. */
export class Wording {
  readonly #tool: Tool
  readonly #toolbox: Toolbox

  constructor(tool: Tool, toolbox: Toolbox) {
    this.#tool = tool
    this.#toolbox = toolbox
  }

  message(text: string): string {
    const reworded = text.replace(/^<([a-z_-]+)>(?=:)/, (whole, name) => this.#tool.parameterNames.get(whole) ?? name)
    return this.#rewordCommands(reworded.replace(SAVED_WITH_PRUNE, 'only by apply with prune true')).text
  }

  /** Rewords a hint. Adds a note about steps that only a person can do. */
  hint(text: string): string {
    if (isOfOperator(text)) return text
    const {
      text: reworded,
      commands,
      flags,
    } = this.#rewordCommands(
      text
        .replace(EXAMPLES_PATTERN, '')
        .replace(APPLY_SAVED, 'Call apply with the manifest. The user can apply a saved plan in a terminal.')
        .replace(SAVE_AGAIN, (_, r) => `${r === 'R' ? 'Call' : 'call'} apply with dry_run true to plan again`)
        .replace(SAME_COMMAND, (_, r) => (r === 'R' ? 'Make a new plan with' : 'make a new plan with')),
    )
    const unknownFlags = [...new Set(flags)]
    return [
      reworded,
      ...(commands > 0 ? [`Ask the user to run ${commands > 1 ? 'them' : 'it'} in a terminal.`] : []),
      ...(unknownFlags.length > 0 ? [`This tool has no parameter for ${unknownFlags.join(', ')}: ask the user.`] : []),
    ].join(' ')
  }

  /** Rewords the fields of a record that contain gdn's own text. */
  record(value: unknown): unknown {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, this.#field(name, field)]))
  }

  #field(name: string, field: unknown): unknown {
    if (LIST_FIELDS.has(name) && Array.isArray(field)) return field.map((item) => this.record(item))
    if (name === NOTES_FIELD && Array.isArray(field)) {
      const notes = field.map((note) =>
        typeof note === 'string' ? this.message(note.replace(AGAIN_SENTENCE, '')) : note,
      )
      return notes.filter((note) => note !== '')
    }
    if (name === 'place') return this.#place(field)
    if (typeof field !== 'string') return field
    return MESSAGE_FIELDS.has(name) ? this.message(field) : HINT_FIELDS.has(name) ? this.hint(field) : field
  }

  #place(place: unknown): unknown {
    if (place === null || typeof place !== 'object' || !('flag' in place)) return place
    const { flag, ...rest } = place
    return { ...rest, field: this.#tool.parameterNames.get(String(flag)) ?? flag }
  }

  /** Returns the reworded text, the number of commands that a person must run, and the flags that aren't parameters. */
  #rewordCommands(text: string): { text: string; commands: number; flags: string[] } {
    const flags: string[] = []
    let commands = 0
    const parameters = (part: string) => {
      const reworded = withParameters(
        part.replace(FLAG_WITH_VALUE, (whole, flag: string, pair: string) => {
          const name = parameterNames.get(flag)
          return name === undefined || !pair.includes('=') ? whole : `${name}: ${JSON.stringify([unquoteWord(pair)])}`
        }),
        parameterNames,
      )
      flags.push(
        ...[...reworded.matchAll(FLAG_PATTERN)].flatMap(([, flag = '']) => (flag.startsWith('--') ? [flag] : [])),
      )
      return reworded
    }
    const replacements = [...text.matchAll(COMMAND_PATTERN)].flatMap((match) => {
      const [whole, quoted, bare = ''] = match
      const replaced = quoted === undefined ? this.#named(bare) : this.#called(quoted)
      return replaced === null ? [] : { ...replaced, start: match.index, end: match.index + whole.length }
    })
    const parameterNames = new Map([
      ...replacements.flatMap(({ tool }) => [...(tool?.parameterNames ?? [])]),
      ...this.#tool.parameterNames,
    ])
    let result = ''
    let end = 0
    for (const replaced of replacements) {
      const before = parameters(text.slice(end, replaced.start))
      end = replaced.end
      const { verb } = replaced
      result += before.replace(/\b[Rr]un $/, (run) =>
        verb === null ? run : run[0] === 'R' ? verb : verb.toLowerCase(),
      )
      result += replaced.text
      if (verb === null) commands += 1
    }
    return { text: result + parameters(text.slice(end)), commands, flags }
  }

  /** Returns the replacement for a command's name; null if the words aren't a command. */
  #named(words: string): Replacement | null {
    const command = this.#findCommand(words.split(' '))
    if (command === null) return null
    const rest = words.slice(command.name.length)
    const tool = this.#toolbox.findOffered(command.name)
    return { text: `${tool?.name ?? `gdn ${command.name}`}${rest}`, tool, verb: tool && CALL_PREFIX }
  }

  /** Returns the equivalent tool call for a command line, or the command line itself if there is none. */
  #called(line: string): Replacement {
    const words = line.match(/(?:\\'|"[^"]*"|'[^']*'|<[^>]*>|[^\s])+/g) ?? []
    const command = this.#findCommand(words)
    const tool = command && this.#toolbox.findOffered(command.name)
    if (command === null || tool === null) return { text: `\`gdn ${line}\``, tool: null, verb: null }
    const rest = words.slice(command.name.split(' ').length)
    if (rest.includes('--help')) return { text: `${tool.name}'s schema`, tool, verb: 'See ' }
    const values = parseValues(rest, command, tool)
    if (values === null) return { text: `\`gdn ${line}\``, tool: null, verb: null }
    const valuesText = Object.keys(values).length === 0 ? '' : ` ${JSON.stringify(values)}`
    return { text: `${tool.name}${valuesText}`, tool, verb: CALL_PREFIX }
  }

  #findCommand([noun = '', verb = '']: readonly string[]): TreeCommand | null {
    return this.#toolbox.commands.get(`${noun} ${verb}`) ?? this.#toolbox.commands.get(noun) ?? null
  }
}

/** Converts the words of a command line to arguments of its tool; null if the tool doesn't support all of them. */
function parseValues(words: readonly string[], command: TreeCommand, tool: Tool): Record<string, unknown> | null {
  const values: Record<string, unknown> = {}
  const positions = tool.inputs.filter(({ form }) => form === 'argument')
  const set = ({ property, form }: Input, value: string) => {
    const list = (tool.inputSchema.properties[property] as { type?: string }).type === 'array'
    const earlier = (values[property] ?? []) as string[]
    values[property] = !list ? value : form === 'list' ? value.split(',') : [...earlier, value]
  }
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-') && /^[|<>…]$/.test(word) === false) {
      const input = positions.length > 1 ? positions.shift() : positions[0]
      if (input === undefined) return null
      set(input, unquoteWord(word))
      continue
    }
    const [, name = word, attached] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
    const flag = command.flags.find(
      (candidate) => candidate.name === name || candidate.short === name || candidate.aliases.includes(name),
    )
    if (flag === undefined) return null
    const input = tool.inputs.find((candidate) => candidate.flag === flag.name || candidate.off === flag.name)
    const value = flag.placeholder === null ? null : (attached ?? rest.shift())
    if (input === undefined) {
      // Ignore a flag that the operator or gdn mcp sets.
      if (!/operator|gdn mcp/.test(OMITTED_FLAGS[flag.name] ?? '')) return null
    } else if (value === null) values[input.property] = input.off !== flag.name
    else if (value !== undefined) set(input, unquoteWord(value))
  }
  return values
}

const unquoteWord = (word: string) =>
  word.replace(/"([^"]*)"|'([^']*)'|\\'/g, (_, double, single) => double ?? single ?? "'")
