export interface Run {
  x: number
  text: string
  /** `#rrggbb`, one of the sixteen, or null for the terminal's own. */
  fg: string | number | null
  bg: string | number | null
  bold: boolean
  dim: boolean
}

export interface Frame {
  lines: readonly (readonly Run[])[]
  ms: number
}

export function animation(frames: readonly Frame[], screen: { columns: number; rows: number; title: string }): string
