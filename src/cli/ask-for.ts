import { GdnError } from '../core/errors.ts'
import type { Io } from './io.ts'

/** Something that a person may be asked for, and the flag that answers it where nobody can be asked. */
export interface Question {
  message: string
  flag: string
}

export interface TextQuestion extends Question {
  default?: string | undefined
  /** True, or what is wrong with an answer. */
  check?: (answer: string) => true | string | Promise<true | string>
}

export interface Choice<Value> {
  name: string
  value: Value
  /** More about it, under the list. */
  description?: string
}

/** Questions to the person at a terminal. Ctrl-C at one is a no that ends the command. */
export interface Prompts {
  /** A yes to something that can't be undone, or costs; nothing but Enter is a no. */
  ask(question: string): Promise<boolean>
  whether(question: { message: string; default: boolean }): Promise<boolean>
  text(question: TextQuestion): Promise<string>
  /** As text, and nothing is shown. */
  secret(question: TextQuestion): Promise<string>
  choose<Value>(question: ListQuestion<Value>): Promise<Value>
}

interface ListQuestion<Value> {
  message: string
  choices: readonly Choice<Value>[]
  default?: Value | undefined
}

/** Asks for a line of text. */
export async function askText(io: Io, question: TextQuestion): Promise<string> {
  return await (await prompts(io, question)).text(question)
}

/** As askText, and what is typed isn't shown. */
export async function askSecret(io: Io, question: TextQuestion): Promise<string> {
  return await (await prompts(io, question)).secret(question)
}

/** Lets a person choose from a list, which typing narrows down. */
export async function choose<Value>(
  io: Io,
  question: Question & { choices: readonly Choice<Value>[]; default?: Value | undefined },
): Promise<Value> {
  return await (await prompts(io, question)).choose(question)
}

/** A yes or no to something that has a usual answer; a danger is confirmed by `io.confirm`, whose usual answer is no. */
export async function askWhether(io: Io, question: Question & { default: boolean }): Promise<boolean> {
  return await (await prompts(io, question)).whether(question)
}

/** The prompts themselves are loaded only when something is asked. */
async function prompts(io: Io, { flag }: Question): Promise<Prompts> {
  if (!io.interactive) {
    throw new GdnError('usage', 'is needed, and nobody can be asked here', {
      place: { flag },
      hint: `give it with ${flag}`,
    })
  }
  const { prompts: promptsOn } = await import('./ask.ts')
  return promptsOn(io.promptOutput)
}
