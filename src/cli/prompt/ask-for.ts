import { GdnError } from '../../core/errors.ts'
import type { Io } from '../io/io.ts'
import type { Choice, Prompts, Question, TextQuestion } from '../io/questions.ts'

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
  const { prompts: promptsOn } = await import('../io/prompts.ts')
  return promptsOn(io.promptOutput)
}
