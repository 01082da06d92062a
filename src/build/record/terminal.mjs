// A headless terminal that records its screen.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import xterm from '@xterm/headless'

// script(1) of util-linux provides a pseudo-terminal, because Node has none.
const PTY = 'script'

/** Screens that follow each other within this time are merged. */
const CLOSER_MS = 70
const LONGEST_MS = 300

/** Exit code of a shell whose program was killed. */
const KILLED = 137

const childrenOf = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
const kill = (pid) => process.kill(Number(pid), 'SIGKILL')

/** Records every screen with its duration. Long waits are shortened. */
export class Recorder {
  constructor(columns, rows, { closerMs = CLOSER_MS } = {}) {
    this.closerMs = closerMs
    this.columns = columns
    this.rows = rows
    this.frames = []
    this.terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 0, allowProposedApi: true })
  }

  async write(text) {
    await new Promise((resolve) => this.terminal.write(text, resolve))
  }

  /** Shows the current screen for this many milliseconds. */
  hold(ms) {
    const lines = this.#lines()
    const last = this.frames.at(-1)
    if (last !== undefined && JSON.stringify(last.lines) === JSON.stringify(lines)) last.ms += ms
    else this.frames.push({ lines, ms })
  }

  /** Types a command at the speed of a person. */
  async type(text) {
    for (const piece of text.match(/.{1,3}/gu) ?? []) {
      await this.write(piece)
      this.hold(60)
    }
    this.hold(350)
    await this.write('\r\n')
  }

  /**
   * Runs a program in a pseudo-terminal of this size, and shows its output as it arrives.
   *
   * @param killAt a pattern. When the output matches, the program is killed, and the recorded shell reports this.
   */
  async run(program, args, env, { killAt } = {}) {
    const words = [program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    const line = `stty cols ${this.columns} rows ${this.rows}; ${killAt === undefined ? 'exec ' : ''}${words.join(' ')}`
    const child = spawn(PTY, ['-qec', line, '/dev/null'], {
      env: { ...env, SHELL: '/bin/sh' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let shownAt = performance.now()
    let all = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      const waited = performance.now() - shownAt
      if (waited >= this.closerMs) {
        this.hold(Math.min(waited, LONGEST_MS))
        shownAt = performance.now()
      }
      all += chunk
      await this.write(chunk)
      if (killAt?.test(chunk)) for (const shell of childrenOf(child.pid)) for (const pid of childrenOf(shell)) kill(pid)
    }
    this.hold(200)
    const code = await new Promise((resolve) =>
      child.exitCode === null ? child.once('exit', resolve) : resolve(child.exitCode),
    )
    if (code !== (killAt === undefined ? 0 : KILLED)) throw new Error(`${words.join(' ')} exited with ${code}:\n${all}`)
    return all
  }

  /** Returns each line as runs of characters with the same style. */
  #lines() {
    const { active } = this.terminal.buffer
    return Array.from({ length: this.rows }, (_, y) => {
      const line = active.getLine(active.viewportY + y)
      const runs = []
      for (let x = 0; x < this.columns; x++) {
        const cell = line?.getCell(x)
        if (cell === undefined || cell.getWidth() === 0) continue
        const look = { fg: color(cell, 'Fg'), bg: color(cell, 'Bg'), bold: cell.isBold() > 0, dim: cell.isDim() > 0 }
        const text = cell.getChars() || ' '
        const last = runs.at(-1)
        const isSame = last !== undefined && ['fg', 'bg', 'bold', 'dim'].every((name) => last[name] === look[name])
        if (isSame) last.text += text
        else runs.push({ x, text, ...look })
      }
      return runs.filter(({ text, bg }) => text.trim() !== '' || bg !== null)
    })
  }
}

const STEPS = [0, 95, 135, 175, 215, 255]

/** Returns a color as `#rrggbb`, or as a number from 0 to 15. Returns null for the terminal's default color. */
function color(cell, which) {
  if (cell[`is${which}Default`]()) return null
  const value = cell[`get${which}Color`]()
  if (cell[`is${which}RGB`]()) return `#${value.toString(16).padStart(6, '0')}`
  if (value < 16) return value
  const grey = 8 + 10 * (value - 232)
  const cube = value - 16
  const parts =
    value >= 232 ? [grey, grey, grey] : [cube / 36, (cube / 6) % 6, cube % 6].map((step) => STEPS[Math.floor(step)])
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
