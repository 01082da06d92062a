import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const THEME_ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const
const THEME_LABELS = { auto: 'system', light: 'light', dark: 'dark' } as const

const readTheme = (): Theme => {
  const { theme } = document.documentElement.dataset
  return theme === 'light' || theme === 'dark' ? theme : 'auto'
}

function applyTheme(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'auto') localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  } catch {
    // If storage is blocked, the choice applies until the page is closed.
  }
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto'
  const label = `Colors: ${THEME_LABELS[theme]}. Change to ${THEME_LABELS[next]}`
  const onClick = () => {
    applyTheme(next)
    setTheme(next)
  }
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={onClick}>
      <Icon name={THEME_ICONS[theme]} size={19} />
    </button>
  )
}
