import { addressProblem, anyAddressProblem } from '../../api/address.ts'
import { type Blockchain, isTestnet, KNOWN_NAMES } from '../../api/blockchains.ts'
import { isEnsName } from '../../api/ens-name.ts'
import { retirementOf } from '../../api/retired.ts'
import { GdnError } from '../../core/errors.ts'
import type { KnownCollection } from '../../state/known-collections.ts'
import type { AddressBook } from '../../wallet/address-book.ts'
import { cannotPromptError } from '../command.ts'
import type { Io } from '../io/io.ts'
import type { Choice, Prompts, Question, TextQuestion } from '../io/questions.ts'

/**
 * Returns whether to prompt for missing values. gdn doesn't prompt without a terminal, or in JSON mode, in which stderr
 * contains only errors. The command then fails with an error that names the flag.
 */
export function mayPrompt(io: Io): boolean {
  return io.isInteractive && !io.settings.machine
}

/** Returns the given value, or prompts for it if it is missing and a prompt is possible. */
export async function orPrompt<Value>(
  io: Io,
  value: Value | undefined,
  ask: () => Promise<Value>,
): Promise<Value | undefined> {
  return value === undefined && mayPrompt(io) ? await ask() : value
}

interface BlockchainQuestion {
  message?: string
  /** Filters the choices. Default: all blockchains. */
  fits?: (blockchain: Blockchain) => boolean
}

/** Prompts for a blockchain. Each choice shows whether it is a testnet. */
export async function askBlockchain(io: Io, question: BlockchainQuestion = {}): Promise<Blockchain> {
  const { message = 'Blockchain', fits = () => true } = question
  return await choose(io, {
    message,
    flag: '--blockchain',
    choices: blockchainChoices().filter(({ value }) => fits(value)),
  })
}

/**
 * Returns the blockchains to choose from. Omits networks that were shut down, although flags accept them for embedded
 * chains.
 */
export function blockchainChoices(): Choice<Blockchain>[] {
  return KNOWN_NAMES.filter((name) => retirementOf(name)?.stillRuns !== false).map((name) => ({
    name,
    value: name,
    description: isTestnet(name) ? 'a testnet' : 'a public network, or an embedded chain of a local backend',
  }))
}

interface AddressQuestion extends TextQuestion {
  blockchain?: Blockchain | undefined
  /** Whether an empty answer is allowed. */
  optional?: boolean
  /** The error message for an empty answer. */
  required?: string
  /**
   * Resolves names such as `@alice`, and permits ENS names, which the caller resolves. Undefined if names aren't
   * permitted, as for a collection.
   */
  addresses?: (() => Promise<AddressBook>) | undefined
}

/**
 * Prompts for an address or a name. Validates it for the blockchain, if one is specified. Returns an ENS name
 * unresolved.
 */
export async function askAddress(
  io: Io,
  {
    blockchain,
    optional = false,
    addresses,
    required = addresses === undefined ? 'an address is required' : 'an address, @name or ENS name is required',
    ...question
  }: AddressQuestion,
): Promise<string> {
  const resolveAddress = async (typed: string): Promise<string> => {
    const answer = typed.trim()
    if (addresses !== undefined && isEnsName(answer)) {
      const { checkedEnsName } = await import('../flags/ens.ts')
      return await checkedEnsName(answer, {}, blockchain)
    }
    return addresses !== undefined && answer.startsWith('@') ? (await addresses()).resolve(answer, {}) : answer
  }
  const check = async (typed: string): Promise<true | string> => {
    try {
      const address = await resolveAddress(typed)
      if (address === '') return optional || required
      return addresses !== undefined && isEnsName(address) ? true : checkAddress(address, blockchain)
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      return error.hint === undefined ? error.message : `${error.message}. ${error.hint}`
    }
  }
  return await resolveAddress(await askText(io, { ...question, check }))
}

function checkAddress(address: string, blockchain: Blockchain | undefined): true | string {
  if (blockchain !== undefined) return addressProblem(address, blockchain) ?? true
  return anyAddressProblem(address) ?? true
}

export async function askLine(io: Io, question: TextQuestion): Promise<string> {
  const check = (typed: string) => typed.trim() !== '' || 'a value is required'
  return await askText(io, { check, ...question })
}

/** A collection to choose from. `run` is the name of the manifest's run in the collection, if there is one. */
export type CollectionChoice = Pick<KnownCollection, 'name' | 'contract_address' | 'blockchain'> & { run?: string }

/** Marks a collection that has a run of the manifest. */
export const ofRunText = (run: string | undefined): string => (run === undefined ? '' : `, run ${run}`)

/**
 * Prompts for a collection: one from the records of this machine, or another one by its address. If the user types an
 * address, the blockchain is undefined.
 */
export async function askCollection(
  io: Io,
  collections: readonly CollectionChoice[],
  blockchain: Blockchain | undefined,
): Promise<{ contract: string; blockchain?: Blockchain }> {
  const flag = '--contract'
  const choices: Choice<{ contract: string; blockchain: Blockchain } | null>[] = collections.flatMap(
    ({ name, contract_address: contract, blockchain: on, run }) =>
      contract === null
        ? []
        : [{ name, value: { contract, blockchain: on }, description: `${contract} on ${on}${ofRunText(run)}` }],
  )
  const chosen =
    choices.length === 0
      ? null
      : await choose(io, {
          message: 'Collection',
          flag,
          choices: [...choices, { name: 'Another', value: null, description: 'by its address' }],
        })
  const required = 'an address is required: run `gdn collection create` to create a collection'
  if (chosen !== null) return chosen
  return { contract: await askAddress(io, { message: 'Address of the collection', flag, blockchain, required }) }
}

export async function askText(io: Io, question: TextQuestion): Promise<string> {
  return await prompt(io, question, (prompts) => prompts.text(question))
}

/** Prompts for a text with hidden input. */
export async function askSecret(io: Io, question: TextQuestion): Promise<string> {
  return await prompt(io, question, (prompts) => prompts.secret(question))
}

/** Prompts for a choice from a list that is filtered as the user types. */
export async function choose<Value>(
  io: Io,
  question: Question & { choices: readonly Choice<Value>[]; default?: Value | undefined },
): Promise<Value> {
  return await prompt(io, question, (prompts) => prompts.choose(question))
}

/** Asks a yes-or-no question. For dangerous actions, use `io.confirm`, whose default is no. */
export async function askYesNo(io: Io, question: Question & { default: boolean }): Promise<boolean> {
  return await prompt(io, question, (prompts) => prompts.whether(question))
}

/**
 * Loads the prompts on first use, and calls `ask` with them.
 *
 * @throws GdnError that names the flag if gdn can't prompt
 */
async function prompt<Answer>(io: Io, { flag }: Question, ask: (prompts: Prompts) => Promise<Answer>): Promise<Answer> {
  if (!io.isInteractive) throw cannotPromptError(flag, `Add ${flag}.`)
  const { prompts } = await import('../io/prompts.ts')
  return await io.prompting((signal) => ask(prompts(io.promptOutput, signal)))
}
