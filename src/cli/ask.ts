import inquirer from 'inquirer'
import { GdnError } from '../core/errors.ts'
import { terminalText } from '../core/terminal-text.ts'

/** Asks on stderr: stdout belongs to data. Ctrl-C at the question is a no that ends the command. */
export async function ask(question: string): Promise<boolean> {
  const prompt = inquirer.createPromptModule({ output: process.stderr })
  try {
    const message = terminalText(question)
    const { yes } = await prompt<{ yes: boolean }>([{ type: 'confirm', name: 'yes', message, default: false }])
    return yes
  } catch (error) {
    if (error instanceof Error && error.name === 'ExitPromptError') throw new GdnError('not_confirmed', 'cancelled')
    throw error
  }
}
