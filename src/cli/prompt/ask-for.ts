import { cannotPrompt } from '../flag-errors.ts'
import type { Io } from '../io/io.ts'
import type { Choice, Prompts, Question, TextQuestion } from '../io/questions.ts'

export async function askText(io: Io, question: TextQuestion): Promise<string> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.text(question))
}

/** Like `askText`, but the input is hidden. */
export async function askSecret(io: Io, question: TextQuestion): Promise<string> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.secret(question))
}

/** Prompts for a choice from a list that is filtered as the user types. */
export async function choose<Value>(
  io: Io,
  question: Question & { choices: readonly Choice<Value>[]; default?: Value | undefined },
): Promise<Value> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.choose(question))
}

/** Prompts for yes or no. For dangerous actions, use `io.confirm`, whose default is no. */
export async function askWhether(io: Io, question: Question & { default: boolean }): Promise<boolean> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.whether(question))
}

/**
 * Loads the prompts on first use.
 *
 * @throws GdnError that names the flag if the user can't be prompted
 */
async function prompts(io: Io, { flag }: Question): Promise<Prompts> {
  if (!io.interactive) throw cannotPrompt(flag, `Add ${flag}.`)
  const { prompts: promptsOn } = await import('../io/prompts.ts')
  return promptsOn(io.promptOutput)
}
