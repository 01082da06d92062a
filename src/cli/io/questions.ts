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
