/** A prompt, and the flag that replaces it if there is no terminal. */
export interface Question {
  message: string
  flag: string
}

export interface TextQuestion extends Question {
  default?: string | undefined
  /** Returns true if the answer is valid, or else the problem. */
  check?: (answer: string) => true | string | Promise<true | string>
}

export interface Choice<Value> {
  name: string
  value: Value
  /** Details about the selected choice, shown below the list. */
  description?: string
}

/** Prompts on a terminal. Ctrl-C counts as no and ends the command. */
export interface Prompts {
  /** Asks for confirmation of an action that costs money or can't be undone. The default is no. */
  ask(question: string): Promise<boolean>
  whether(question: { message: string; default: boolean }): Promise<boolean>
  text(question: TextQuestion): Promise<string>
  /** Prompts for a text with hidden input. */
  secret(question: TextQuestion): Promise<string>
  choose<Value>(question: ListQuestion<Value>): Promise<Value>
}

interface ListQuestion<Value> {
  message: string
  choices: readonly Choice<Value>[]
  default?: Value | undefined
}
