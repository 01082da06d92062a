import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import type { TreeCommand } from '../command-tree.ts'
import { NOT_TOOLS } from './not-tools.ts'
import { createTool, type Tool, toolName } from './tools.ts'
import { findToolset, type Toolset } from './toolsets.ts'

/** The permissions and settings that affect which tools are offered, as chosen by the operator. */
export interface Permissions {
  allowWrites: boolean
  /** The file with the password for keystores. If null, wallets can neither be created nor sign. */
  passwordFile: string | null
  toolsets: readonly (Toolset | 'all')[]
}

/** All tools of gdn, and which of them the session offers. */
export class Toolbox {
  /** All commands by name, including those that aren't tools. */
  readonly commands: ReadonlyMap<string, TreeCommand>
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #permissions: Permissions

  constructor(commands: readonly TreeCommand[], permissions: Permissions) {
    const planning = commands.find(({ name }) => name === 'plan')?.flags ?? []
    this.commands = new Map(commands.map((command) => [command.name, command]))
    this.#tools = new Map(
      commands
        .filter(({ name }) => findToolset(name) !== null)
        .map((command) => [toolName(command.name), createTool(command, command.name === 'apply' ? planning : [])]),
    )
    this.#permissions = permissions
  }

  get offeredTools(): Tool[] {
    return [...this.#tools.values()].filter((tool) => this.#findMissingFlags(tool).length === 0)
  }

  /**
   * Returns the tool with a name.
   *
   * @throws GdnError if the tool doesn't exist or isn't offered
   */
  find(name: string): Tool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw unknownToolError(name, [...this.#tools.keys()])
    const missing = this.#findMissingFlags(tool)
    if (missing.length === 0) return tool
    throw new GdnError('refused', `${name} is not enabled`, {
      hint: `Ask the operator to start gdn mcp with ${missing.join(' ')}.`,
    })
  }

  /** Returns the tool of a command, even if it isn't offered. */
  get(command: string): Tool {
    const tool = this.#tools.get(toolName(command))
    if (tool === undefined) throw new Error(`gdn ${command} isn't a tool`)
    return tool
  }

  /** Returns the tool of a command; null if it isn't offered. */
  findOffered(command: string): Tool | null {
    return this.offeredTools.find((tool) => tool.command === command) ?? null
  }

  /** Returns the additional flags that gdn mcp needs to offer a tool; empty if it already offers the tool. */
  #findMissingFlags({ command, effect }: Tool): string[] {
    const { allowWrites, passwordFile, toolsets } = this.#permissions
    const toolset = findToolset(command)
    const isChosen = toolsets.some((name) => name === 'all' || name === toolset)
    return [
      ...(effect !== 'read' && !allowWrites ? ['--allow-writes'] : []),
      ...(command === 'wallet generate' && passwordFile === null ? ['--password-file <file>'] : []),
      ...(isChosen ? [] : [`--toolsets ${[...toolsets, toolset].join(',')}`]),
    ]
  }
}

function unknownToolError(name: string, tools: readonly string[]): GdnError {
  const command = Object.keys(NOT_TOOLS).find((candidate) => toolName(candidate) === name)
  if (command === undefined) {
    const near = nearest(name, tools)
    const hint = near === undefined ? 'List the tools.' : `Did you mean ${near}?`
    return new GdnError('usage', `there is no such tool: ${name.slice(0, 60)}`, { hint })
  }
  return new GdnError('usage', `gdn ${command} isn't a tool: it ${NOT_TOOLS[command]}`, {
    hint: `Ask the user to run \`gdn ${command}\` in a terminal.`,
  })
}
