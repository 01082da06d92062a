import inquirer from 'inquirer'
import { GdnError } from '../core/errors.ts'
import { terminalText } from '../core/terminal-text.ts'
import type { Choice, TextQuestion } from './ask-for.ts'

/** A yes to something that can't be undone, or costs; nothing but Enter is a no. */
export async function ask(question: string): Promise<boolean> {
  return await whether({ message: question, default: false })
}

export async function whether({ message, default: usual }: { message: string; default: boolean }): Promise<boolean> {
  return await answer<boolean>({ type: 'confirm', message: terminalText(message), default: usual })
}

export async function text({ message, default: usual, check }: TextQuestion): Promise<string> {
  return await answer<string>({
    type: 'input',
    message: terminalText(message),
    ...(usual === undefined ? {} : { default: terminalText(usual) }),
    ...(check === undefined ? {} : { validate: check }),
  })
}

export async function secret({ message, check }: TextQuestion): Promise<string> {
  return await answer<string>({
    type: 'password',
    message: terminalText(message),
    mask: false,
    // A key on the screen is a key on the recording.
    toggleMask: false,
    theme: { style: { maskedText: '(nothing is shown)' } },
    ...(check === undefined ? {} : { validate: check }),
  })
}

interface ListQuestion<Value> {
  message: string
  choices: readonly Choice<Value>[]
  default?: Value | undefined
}

export async function choose<Value>({ message, choices, default: usual }: ListQuestion<Value>): Promise<Value> {
  const shown = choices.map(({ name, value, description }) => ({
    name: terminalText(name),
    value,
    ...(description === undefined ? {} : { description: terminalText(description) }),
  }))
  return await answer<Value>({
    type: 'search',
    message: terminalText(message),
    ...(usual === undefined ? {} : { default: usual }),
    source: (typed: string | undefined) => narrowed(shown, typed ?? ''),
  })
}

/** What holds every word that was typed; what begins with it goes first. */
export function narrowed<Of extends { name: string; description?: string }>(all: readonly Of[], typed: string): Of[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const textOf = ({ name, description = '' }: Of) => `${name} ${description}`.toLowerCase()
  const fitting = all.filter((one) => words.every((word) => textOf(one).includes(word)))
  const [first = ''] = words
  const begins = (one: Of) => textOf(one).startsWith(first)
  return [...fitting.filter(begins), ...fitting.filter((one) => !begins(one))]
}

type Prompt = (questions: readonly object[]) => Promise<{ answer: unknown }>

/** Asks on stderr: stdout belongs to data. Ctrl-C at the question is a no that ends the command. */
async function answer<Value>(question: object): Promise<Value> {
  const prompt = inquirer.createPromptModule({ output: process.stderr }) as unknown as Prompt
  try {
    return (await prompt([{ ...question, name: 'answer' }])).answer as Value
  } catch (error) {
    if (error instanceof Error && error.name === 'ExitPromptError') throw new GdnError('not_confirmed', 'cancelled')
    throw error
  }
}
