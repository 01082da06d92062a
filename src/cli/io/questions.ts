/** A prompt, and the flag that answers it without a terminal. */
export interface Question {
  message: string
  flag: string
}

export interface TextQuestion extends Question {
  default?: string | undefined
  /** Returns true, or the problem with the answer. */
  check?: (answer: string) => true | string | Promise<true | string>
}

export interface Choice<Value> {
  name: string
  value: Value
  /** Details that are shown below the list for the selected choice. */
  description?: string
}

/** Prompts at a terminal. Ctrl-C counts as no and ends the command. */
export interface Prompts {
  /** Confirms an action that costs money or can't be undone. The default is no. */
  ask(question: string): Promise<boolean>
  whether(question: { message: string; default: boolean }): Promise<boolean>
  text(question: TextQuestion): Promise<string>
  /** Like `text`, but the input is hidden. */
  secret(question: TextQuestion): Promise<string>
  choose<Value>(question: ListQuestion<Value>): Promise<Value>
}

interface ListQuestion<Value> {
  message: string
  choices: readonly Choice<Value>[]
  default?: Value | undefined
}
