/** A prompt, and the flag that answers it without a terminal. */
export interface Question {
  message: string
  flag: string
}

export interface TextQuestion extends Question {
  default?: string | undefined
  /** Returns true, or the problem with an answer. */
  check?: (answer: string) => true | string | Promise<true | string>
}

export interface Choice<Value> {
  name: string
  value: Value
  /** Details, shown below the list. */
  description?: string
}

/** Prompts at a terminal. Ctrl-C counts as no and ends the command. */
export interface Prompts {
  /** Confirms an action that can't be undone or that costs money. The default is no. */
  ask(question: string): Promise<boolean>
  whether(question: { message: string; default: boolean }): Promise<boolean>
  text(question: TextQuestion): Promise<string>
  /** Like text, with hidden input. */
  secret(question: TextQuestion): Promise<string>
  choose<Value>(question: ListQuestion<Value>): Promise<Value>
}

interface ListQuestion<Value> {
  message: string
  choices: readonly Choice<Value>[]
  default?: Value | undefined
}
