import { render } from 'preact'
import { App } from './app.tsx'
import { startNavigation } from './navigate.ts'

startNavigation()
const root = document.getElementById('app')
if (root !== null) {
  root.textContent = ''
  render(<App />, root)
}
