import { cannotPrompt } from '../flag-errors.ts'
import type { Io } from '../io/io.ts'
import type { Choice, Prompts, Question, TextQuestion } from '../io/questions.ts'

/** Prompts for a line of text. */
export async function askText(io: Io, question: TextQuestion): Promise<string> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.text(question))
}

/** Like askText, with hidden input. */
export async function askSecret(io: Io, question: TextQuestion): Promise<string> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.secret(question))
}

/** Prompts for a choice from a list, which typing filters. */
export async function choose<Value>(
  io: Io,
  question: Question & { choices: readonly Choice<Value>[]; default?: Value | undefined },
): Promise<Value> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.choose(question))
}

/** Prompts for yes or no, with a default. For dangerous actions, use `io.confirm`, whose default is no. */
export async function askWhether(io: Io, question: Question & { default: boolean }): Promise<boolean> {
  const asked = await prompts(io, question)
  return await io.prompting(() => asked.whether(question))
}

/** Loads the prompts on first use. */
async function prompts(io: Io, { flag }: Question): Promise<Prompts> {
  if (!io.interactive) throw cannotPrompt(flag, `Add ${flag}.`)
  const { prompts: promptsOn } = await import('../io/prompts.ts')
  return promptsOn(io.promptOutput)
}
