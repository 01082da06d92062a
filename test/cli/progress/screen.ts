/** A simulated terminal for the progress block, with the text that its screen shows after each write. */
export class Screen {
  readonly isTTY = true
  columns: number
  rows: number
  writes = 0
  isCursorShown = true
  #lines: string[] = ['']
  /** Whether a row wraps into the next one. Overwriting a row keeps this flag, clearing it resets the flag. */
  #folded: boolean[] = []
  #row = 0
  #column = 0

  constructor(columns = 80, rows = 24) {
    this.columns = columns
    this.rows = rows
  }

  /** The lines of the screen without empty ones at the end. */
  get text(): string {
    return this.#lines.join('\n').trimEnd()
  }

  getColorDepth(): number {
    return 1
  }

  write(text: string): boolean {
    this.writes++
    for (const [part] of text.matchAll(/\u001b\[\??[\d;]*[A-Za-z]|[\s\S]/gu)) this.#take(part)
    return true
  }

  /** Wraps lines that no longer fit, and rejoins lines that were wrapped. */
  resize(columns: number): void {
    this.columns = columns
    const lines: string[] = []
    const folded: boolean[] = []
    let row = 0
    for (let at = 0; at < this.#lines.length; at++) {
      let text = this.#lines[at] ?? ''
      while (this.#folded[at] === true) text += this.#lines[++at] ?? ''
      const parts = text.match(new RegExp(`.{1,${columns}}`, 'gu')) ?? ['']
      lines.push(...parts)
      folded.push(...parts.map((_, i) => i < parts.length - 1))
      if (at <= this.#row) row = lines.length - 1
    }
    this.#lines = lines
    this.#folded = folded
    this.#row = row
  }

  #take(part: string): void {
    const command = /^\u001b\[(\?25)?(\d*)[\d;]*([A-Za-z])$/.exec(part)
    if (command !== null) this.#command(command[3] ?? '', Number(command[2] || 1))
    else if (part === '\r') this.#column = 0
    else if (part === '\n') {
      this.#row++
      this.#column = 0
      this.#lines[this.#row] ??= ''
    } else {
      if (this.#column === this.columns) this.#take('\n')
      const line = (this.#lines[this.#row] ?? '').padEnd(this.#column)
      this.#lines[this.#row] = line.slice(0, this.#column) + part + line.slice(this.#column + 1)
      this.#column++
    }
  }

  #command(name: string, n: number): void {
    const line = this.#lines[this.#row] ?? ''
    if (name === 'A') this.#row = Math.max(0, this.#row - n)
    else if (name === 'K') this.#lines[this.#row] = line.slice(0, this.#column)
    else if (name === 'J') {
      this.#lines.length = this.#row + 1
      this.#folded.length = this.#row
      this.#lines[this.#row] = line.slice(0, this.#column)
    } else if (name === 'h' || name === 'l') this.isCursorShown = name === 'h'
    else if (name !== 'm') throw new Error(`this terminal doesn't know ${name}`)
  }
}
