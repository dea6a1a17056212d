package ops

// SetHook lets a test stop, or fail, a store before every step that changes something on disk.
func (f *Folder) SetHook(hook func(step string) error) { f.hook = hook }
